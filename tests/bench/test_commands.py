"""The commands say what is wrong in one line, and need no peer to start."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.__main__ import main

ROOT = Path(__file__).parents[2]

IMPORT_WITHOUT_PEERS = """
import sys
for name in ("dask", "distributed", "ray", "parsl", "matplotlib"):
    sys.modules[name] = None
import importlib
from bench.__main__ import MODULES
from bench.runners import SYSTEMS
for name in (*MODULES.values(), *(system.module for system in SYSTEMS.values())):
    importlib.import_module(name)
"""


def test_everything_is_imported_without_the_peers() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_PEERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["overhead", "--peers", "dask,spark"], "'spark' is not one of futures, dask"),
        (["granularity", "--patterns", "star"], "'star' is not one of stencil"),
        (["server", "--tasks", "10,many"], "'10,many' is not a list of numbers"),
        (["server", "--tasks", "0"], "each must be at least 1"),
    ],
)
def test_a_wrong_option_is_named(arguments: list[str], words: str) -> None:
    answer = CliRunner().invoke(main, arguments)

    assert answer.exit_code == 2
    assert words in answer.output
