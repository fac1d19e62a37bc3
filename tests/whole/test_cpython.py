"""CPython's own tests of executors, with ours in the place of a pool of threads or processes.

Debian and pyenv leave them out of some versions, so any CPython beside the one that runs this
lends them: they are plain Python, and need only their own package `test`.
"""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.modes import MODES

PROGRAM = Path(__file__).with_name("cpython_tests.py")
AT_LEAST = 25
PROJECT = PROGRAM.parent.parent.parent

pytestmark = pytest.mark.whole


def package_with_the_tests() -> Path | None:
    """A package `test`; this Python's own comes first, then the newest one."""
    own = Path(sysconfig.get_path("stdlib")) / "test"
    beside = Path(sys.base_prefix).parent.glob("*/lib/python3.*/test")
    newest = sorted(beside, key=lambda found: int(found.parent.name.split(".")[1]), reverse=True)
    for found in (own, *newest):
        if list(found.glob("test_concurrent_futures*")):
            return found
    return None


@pytest.fixture(scope="module")
def programs(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """The tests as programs, one for each mode: beside each other, since most of them sleep."""
    package = package_with_the_tests()
    if package is None:
        pytest.skip("no Python here has test.test_concurrent_futures")
    # Executors import the functions of the tests from the same folder as the program.
    folder = tmp_path_factory.mktemp("lent")
    (folder / "test").symlink_to(package)
    found_in = os.pathsep.join([str(folder), str(PROJECT), *sys.path])
    with ExitStack() as ending:
        started: dict[str, subprocess.Popen[str]] = {}
        for mode in MODES:
            started[mode] = ending.enter_context(
                subprocess.Popen(
                    [sys.executable, PROGRAM, mode],
                    env={**os.environ, "PYTHONPATH": found_in},
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            ending.callback(started[mode].kill)
        yield started


@pytest.mark.parametrize("mode", MODES)
def test_the_tests_of_cpython_for_executors_pass(
    mode: str, programs: "dict[str, subprocess.Popen[str]]"
) -> None:
    _, said = programs[mode].communicate()
    assert programs[mode].returncode == 0, said
    ran = re.search(r"Ran (\d+) tests", said)
    assert ran is not None
    assert int(ran[1]) >= AT_LEAST
    assert "skipped" not in said
