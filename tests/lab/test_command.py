from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rain.base.errors import RainError
from rain.cli import cli
from rain.scheduler.shipped import SCHEDULERS

RUNNER = CliRunner()


def lab(*words: str) -> Result:
    return RUNNER.invoke(cli, ["lab", "--jobs", "1", *words])


def refusal(*words: str) -> str:
    """The one line that a wrong command line gets."""
    result = lab(*words)
    assert result.exit_code
    if isinstance(result.exception, RainError):
        text = str(result.exception)
    else:
        text = result.output.splitlines()[-1]
    assert "\n" not in text
    return text


def test_schedulers_are_compared_on_graphs_and_the_results_can_be_read_by_programs(
    tmp_path: Path,
) -> None:
    # when
    file = tmp_path / "results.json"
    result = lab("fork1", "conflux", "-s", "rain", "-s", "round-robin", "--json", str(file))
    # then
    assert result.exit_code == 0, result.output
    assert "Makespans in seconds" in result.output
    assert "Schedulers, the best first" in result.output
    values = json.loads(file.read_text())
    assert [row["scheduler"] for row in values["standings"]] == ["rain", "round-robin"]
    assert len(values["runs"]) == 4
    assert min(run["ratio"] for run in values["runs"]) == 1.0
    for run in values["runs"]:
        assert run["makespan"] >= max(run["critical_path"], run["work"])


def test_several_processes_have_the_results_of_one(tmp_path: Path) -> None:
    digests: list[list[str]] = []
    for jobs in ("1", "2"):
        file = tmp_path / f"{jobs}.json"
        words = ["lab", "fork1", "--repeat", "2", "--jobs", jobs, "--json", str(file)]
        assert RUNNER.invoke(cli, words).exit_code == 0
        digests.append([run["digest"] for run in json.loads(file.read_text())["runs"]])
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 2


def test_the_graphs_are_listed() -> None:
    lines = " ".join(lab("--list").output.split())
    assert "merge_neighbours: A ring: every merge reads two neighbours. (count=107)" in lines


def test_a_graph_that_was_exported_runs_as_the_graph_itself(tmp_path: Path) -> None:
    # given
    file, results = tmp_path / "fork.json", tmp_path / "results.json"
    cluster = ("--cluster", "2x2", "--bandwidth", "50")
    assert lab("fork1:count=5", *cluster, "--export", str(file)).exit_code == 0
    # when
    assert lab(str(file), "fork1:count=5", *cluster, "--json", str(results)).exit_code == 0
    assert lab(str(file), "--json", str(tmp_path / "own.json")).exit_code == 0
    # then: also with the cluster that the file has
    runs = json.loads(results.read_text())["runs"]
    runs += json.loads((tmp_path / "own.json").read_text())["runs"]
    assert len({run["digest"] for run in runs}) == 1
    assert len(runs) == 3


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "name a graph or a file; --list shows the graphs that the lab can make"),
        (["nonsense"], "there is no graph 'nonsense'; known: elementary, shapes"),
        (["fork1:width=3"], "the graph 'fork1:width=3' has no parameter 'width'; it knows count"),
        (["fork1:count=0"], "count is a whole number from 1 on, not '0'"),
        (["none.json"], "none.json: cannot be read: No such file or directory"),
        (["fork1", "fork2", "--export", "x"], "--export writes one graph"),
        (["fork1", "-s", "clever"], "there is no scheduler 'clever'; known: horizon"),
        (["fork1", "--cluster", "8"], "'8' is not a cluster: write GOVERNORSxCPUS"),
        (["fork1", "--cluster", "8x4:gpus=x"], "the cluster '8x4:gpus=x': the resource 'gpus'"),
        (["fork1", "--estimates", "exact,no"], "'no' is not one of exact, user"),
        (["fork1", "--bandwidth", "0"], "a bandwidth must be above 0"),
        (["fork1", "--bandwidth", "fast"], "'fast' is not a list of numbers"),
        (["fork1", "--fast"], "No such option"),
        (["triplets", "--cluster", "8x2"], "needs cpus=4, which no governor of the cluster"),
    ],
)
def test_what_makes_no_sense_gets_one_line(words: list[str], text: str) -> None:
    assert text in refusal(*words)


SWALLOWS = """
class Swallows:
    def schedule(self, graph, news, plan):
        governors = list(graph.governors.values())
        while news.submitted:
            try:
                for task in news.submitted:
                    plan.assign(task, governors[0])
                while True:
                    pass
            except BaseException:
                pass
"""


@pytest.mark.usefixtures("no_collections")
def test_a_scheduler_that_never_ends_gets_one_line_with_its_name(tmp_path: Path) -> None:
    # given: it catches whatever shall end it
    plugin = tmp_path / "strange.py"
    plugin.write_text(SWALLOWS)
    scheduler = f"{plugin}:Swallows"
    handler = signal.getsignal(signal.SIGALRM)

    # when
    said = refusal("fork1", "-s", scheduler, "--scheduler-limit", "0.05")

    # then
    assert said.startswith(f"the scheduler {scheduler} was interrupted on 'fork1")
    assert said.endswith("took longer than 0.05 seconds (--scheduler-limit)")
    # and: the signal is whose it was
    assert signal.getsignal(signal.SIGALRM) is handler


def test_a_scheduler_that_fails_is_named_and_the_others_have_their_results(tmp_path: Path) -> None:
    # given
    plugin, file = tmp_path / "mine.py", tmp_path / "results.json"
    plugin.write_text("class Mine:\n def schedule(self, g, n, p): raise ValueError('oh')")
    # when
    result = lab("fork1", "-s", "rain", "-s", f"{plugin}:Mine", "--json", str(file))
    # then
    assert isinstance(result.exception, RainError)
    assert str(result.exception) == (
        f"the scheduler {plugin}:Mine failed on 'fork1': it raised ValueError: oh"
        f" ({plugin}, line 2)"
    )
    assert "Schedulers, the best first" in result.output
    assert [row["scheduler"] for row in json.loads(file.read_text())["standings"]] == ["rain"]


def test_eight_schedulers_fit_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = [word for name in SCHEDULERS for word in ("-s", name)]
    result = lab("fork1", "--cluster", "2x2", *words)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    heads = " ".join(line for line in lines if line.startswith(" graph"))
    assert all(f" {name}" in heads for name in SCHEDULERS)
