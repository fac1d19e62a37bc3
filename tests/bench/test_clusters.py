"""Every command that needs a cluster runs from its first line to its last, with next to no work.

The clusters are real, and so are their secrets: what no longer fits to a cluster is told here, and
not by the program that measures.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bench.costs
import bench.feel
import bench.governors
import bench.prediction
import bench.processes
import bench.scale
import bench.server_alone
from bench.__main__ import MODULES, main
from bench.prediction import Graph, nap
from rain.client import Task
from rain.server.core.sources import SENDS_AT_ONCE

pytestmark = pytest.mark.whole

SMALL = {
    "overhead": ["--sizes", "20", "--peers", "", "--repeat", "1", "--cpus", "1"],
    "latency": [
        *("--rounds", "3", "--clients", "2", "--links", "3"),
        *("--peers", "", "--repeat", "1", "--cpus", "1"),
    ],
    "granularity": [
        *("--patterns", "stencil", "--width", "2", "--steps", "2", "--parts", "4"),
        *("--peers", "", "--repeat", "1", "--cpus", "1"),
    ],
    "nested": [
        *("--depth", "2", "--calls", "5", "--again", "1"),
        *("--peers", "", "--repeat", "1", "--cpus", "1"),
    ],
    "programs": ["--count", "5", "--peers", "", "--repeat", "1", "--cpus", "1"],
    "frontdoor": ["--divide", "1000", "--peers", "", "--repeat", "1"],
    "scale": ["--tasks", "20", "--governors", "1", "--repeat", "1"],
    "governors": ["--zero", "2", "--real", "2"],
    "server": ["--tasks", "20", "--repeat", "1"],
    "feel": ["--repeat", "1"],
    "prediction": [],
    "broadcast": ["--governors", "24", "--mebibytes", "2"],
    "transfer": ["--mebibytes", "1", "--repeat", "1"],
    "call": ["--calls", "3"],
    "cache": ["--calls", "3", "--mebibytes", "1", "--repeat", "1"],
}
WITHOUT_A_CLUSTER = {"scheduling"}
WITHOUT_FIGURES = {
    *("soak", "standby", "pauses", "compression", "life", "memory", "shuffle", "wan", "way"),
}


def one_nap() -> Task:
    return nap(0.01, 1)


@pytest.fixture(autouse=True)
def _alone_and_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # it was asked for before
    monkeypatch.setenv("RAIN_SECRET_FILE", "")
    monkeypatch.setattr(bench.feel, "GOVERNORS", 2)
    monkeypatch.setattr(bench.server_alone, "TASKS_AT_LEAST", 1)  # else small shapes run often
    monkeypatch.setattr(bench.costs, "TURN_TASKS", 100)  # the same
    monkeypatch.setattr(bench.costs, "PIECE_TASKS", 50)  # more than one piece all the same
    monkeypatch.setattr(bench.processes, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(bench.scale, "SETTLING_TASKS", 2)
    monkeypatch.setattr(bench.governors, "TASKS", 20)
    monkeypatch.setattr(bench.governors, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(bench.prediction, "GRAPHS", (Graph("a nap", one_nap),))


def run(command: str, folder: Path) -> dict[str, Any]:
    """What the command has written down."""
    file = folder / "figures.json"
    answer = CliRunner().invoke(
        main, [command, *SMALL[command], "--json", str(file)], catch_exceptions=False
    )
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_no_command_is_forgotten() -> None:
    assert {*SMALL, *WITHOUT_A_CLUSTER, *WITHOUT_FIGURES} == {*MODULES}


@pytest.mark.parametrize(
    "command", ["overhead", "latency", "frontdoor", "granularity", "nested", "programs"]
)
def test_a_comparison_has_every_figure_of_ours(command: str, tmp_path: Path) -> None:
    found = run(command, tmp_path)

    assert found["problems"] == []
    missing = [name for name, one in found["quantities"].items() if not one["seconds"]["rain"]]
    assert missing == []


@pytest.mark.parametrize(
    "command", ["scale", "governors", "server", "feel", "transfer", "prediction", "call", "cache"]
)
def test_a_command_about_ours_alone_comes_to_its_end(command: str, tmp_path: Path) -> None:
    assert run(command, tmp_path)["benchmark"] == command


def test_an_object_that_23_governors_read_is_sent_23_times_and_by_its_maker_to_few(
    tmp_path: Path,
) -> None:
    found = run("broadcast", tmp_path)["broadcast"]
    assert sum(found["sends"].values()) == 23
    # Whenever the maker has sent it, two others have it from the receiver for one from the maker.
    others = 23 - SENDS_AT_ONCE
    assert found["first"] <= SENDS_AT_ONCE + others // (SENDS_AT_ONCE + 1)


def test_nothing_is_wrong_or_left_when_a_soak_has_ended(tmp_path: Path) -> None:
    arguments = ["soak", "--minutes", "0.1", "--governors", "1", "--clients", "1"]
    answer = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    assert any(word in answer.output for word in (" killed ", " stopped ", "both ways", "one way"))


def test_a_standby_takes_over_and_all_results_are_right(tmp_path: Path) -> None:
    answer = CliRunner().invoke(
        main, ["standby", "--tasks", "20", "--rounds", "1"], catch_exceptions=False
    )
    assert answer.exit_code == 0, answer.output


def test_a_work_on_more_data_than_memory_comes_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    small = ["--size", "20M", "--memory", "600M", "--systems", "rain", "--works", "tree"]
    answer = CliRunner().invoke(
        main, ["memory", *small, "--json", str(file)], catch_exceptions=False
    )
    assert answer.exit_code == 0, answer.output
    assert json.loads(file.read_text())["benchmark"] == "memory"


def test_shuffles_come_to_their_end() -> None:
    small = ["--calls", "100", "--sizes", "3", "--rows", "1000", "--partitions", "2", "--cpus", "1"]
    # In a process of its own, since Dask leaves threads behind.
    command = [sys.executable, "-m", "bench", "shuffle", *small]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
