"""The commands say what is wrong in one line, and need no peer to start."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench.__main__ import main
from bench.overhead import choose_systems
from bench.runners import System

ROOT = Path(__file__).parents[2]

IMPORT_WITHOUT_PEERS = """
import sys
for name in ("dask", "distributed", "ray", "matplotlib"):
    sys.modules[name] = None
import bench.__main__, bench.runners.dask, bench.runners.ray
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


def test_a_peer_that_is_missing_is_left_out_with_a_line_that_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_installed(system: System) -> bool:
        return system.name != "ray"

    monkeypatch.setattr(System, "is_installed", is_installed)
    console = Console(width=200, record=True, file=StringIO())

    systems = choose_systems(("dask", "ray"), console)

    assert [system.name for system in systems] == ["rain", "dask"]
    assert console.export_text() == "ray is not installed: pip install '.[bench]'\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["overhead", "--peers", "dask,spark"], "'spark' is none of dask, ray"),
        (["overhead", "--tasks", "1"], "1 is not in the range"),
        (["server", "--tasks", "10,many"], "'10,many' is no list of numbers"),
        (["server", "--tasks", "0"], "each is at least 1"),
    ],
)
def test_a_wrong_option_is_named(arguments: list[str], words: str) -> None:
    answer = CliRunner().invoke(main, arguments)

    assert answer.exit_code == 2
    assert words in answer.output
