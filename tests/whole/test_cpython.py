"""CPython's own tests of executors, with ours in the place of a pool of threads or processes.

Debian and pyenv leave them out of some versions, so any CPython beside the one that runs this
lends them: they are plain Python, and need only their own package `test`.
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("cpython_tests.py")
AT_LEAST = 25

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


def test_the_tests_of_cpython_for_executors_pass(tmp_path: Path) -> None:
    package = package_with_the_tests()
    if package is None:
        pytest.skip("no Python here has test.test_concurrent_futures")
    # Executors import the functions of the tests from the same folder as the program.
    (tmp_path / "test").symlink_to(package)
    run = subprocess.run(
        [sys.executable, PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    ran = re.search(r"Ran (\d+) tests", run.stderr)
    assert ran is not None
    assert int(ran[1]) >= AT_LEAST
    assert "skipped" not in run.stderr
