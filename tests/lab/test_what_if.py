from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from rain.base.ids import KindId
from rain.base.kinds import TaskKind
from rain.cli import cli
from rain.lab.estimates import Estimates, expect
from rain.lab.families import make
from rain.lab.outcome import Outcome
from rain.lab.rebuilding import RecordedRun, latency_of, read_run, start_of
from rain.lab.recorded import RecordingReader, SeenTask
from rain.lab.replaying import ask, open_run
from rain.lab.setup import PATIENT, Setup
from rain.lab.simulation import Simulation
from rain.lab.watched import WatchedScheduler
from rain.lab.workload import MIB, Batch, Cluster, LabError, Overheads, Workload
from rain.server.core.messages import TurnInput
from rain.server.core.reactor import Reactor
from rain.server.core.state import State
from rain.server.plugins import make_scheduler, maker_of
from rain.server.recording import Header, Recorder, check_end
from tests.lab.running import FREE, cluster
from tests.lab.test_command import RUNNER, refusal

SCHEDULER = "rain"


def recorded(
    workload: Workload,
    on: Cluster,
    overheads: Overheads = FREE,
    record: Callable[[TurnInput], None] | None = None,
) -> tuple[Outcome, list[TurnInput]]:
    """A run of the lab, recorded as the server would do it."""
    turns: list[TurnInput] = []

    def keep(given: TurnInput) -> None:
        turns.append(given)
        if record is not None:
            record(given)

    setup = Setup(workload, on, expect(workload, Estimates.USER), overheads)
    watched = WatchedScheduler(make_scheduler(SCHEDULER))
    return Simulation(setup, watched, keep).run(), turns


def read(turns: list[TurnInput]) -> RecordedRun:
    reader = RecordingReader(Reactor(maker_of(SCHEDULER), State(PATIENT)), check_end)
    return read_run(reader, iter(turns), "run")


def merge_neighbours() -> Workload:
    return make("merge_neighbours:count=20", 1)


def test_a_recording_tells_the_graph_and_the_cluster() -> None:
    # given
    workload = merge_neighbours()
    on = cluster(2, 2, 4, bandwidth=200.0, latency=0.01)
    _, turns = recorded(workload, on)
    # when
    run = read(turns)
    # then: tasks come in the order of the submission
    again = run.workload
    assert [task.name for task in again.tasks] == [task.name for task in workload.tasks]
    assert [task.duration for task in again.tasks] == [task.duration for task in workload.tasks]
    assert [task.expected for task in again.tasks] == [task.expected for task in workload.tasks]
    assert [[again.objects[i].size for i in task.inputs] for task in again.tasks] == [
        [workload.objects[i].size for i in task.inputs] for task in workload.tasks
    ]
    assert run.cluster.governors == on.governors
    assert run.cluster.name == "2x2+1x4"
    assert run.left_out == 0


def test_what_the_system_itself_took_is_read_from_the_times() -> None:
    # given: tasks that come one by one, to a governor that is idle
    workload = Workload("one by one")
    for number in range(6):
        workload.add_task("work", 1, batch=number)
    workload.batches = [Batch(), *[Batch(delay=0.5, after=(number,)) for number in range(5)]]
    overheads = Overheads(task=0.02)
    _, turns = recorded(workload, cluster(1, latency=0.01), overheads)
    # when
    run = read(turns)
    # then
    assert run.overheads.task == pytest.approx(0.02, abs=1e-6)
    assert run.overheads.start == pytest.approx(0.0, abs=1e-6)
    assert run.cluster.latency == pytest.approx(0.01, abs=1e-6)


def seen(ordered: float, started: float, *, early: bool) -> SeenTask:
    kind = TaskKind(KindId(1), "py/", "work")
    return SeenTask(
        kind, [], [], 0, 0, ordered, at_once=True, early=early, free=True, started=started
    )


def test_the_first_tasks_of_a_governor_tell_how_long_its_executors_took_to_start() -> None:
    # given: an executor that starts in 0.3 s, and a trip of 0.02 s
    tasks = [seen(1.0, 1.32, early=True), seen(2.0, 2.02, early=False), seen(3, 3.02, early=False)]
    # then
    assert latency_of(tasks) == pytest.approx(0.01)
    assert start_of(tasks, 0.01) == pytest.approx(0.3)
    # and the lab lets them wait
    workload = make("merge_slow:count=4,seconds=1", 1)
    outcome, _ = recorded(workload, cluster(4), Overheads(start=0.3))
    assert outcome.makespan == pytest.approx(0.3 + 1 + 1)


def test_tasks_that_are_sent_ahead_say_nothing_of_the_latency() -> None:
    # given: every link is told to the governor while the one before it runs
    _, turns = recorded(make("chain:length=20", 1), cluster(1, latency=0.01))
    # then
    assert read(turns).cluster.latency < 0.011


def test_the_same_run_simulated_takes_as_long_as_it_did() -> None:
    for name in ("merge_neighbours:count=20", "stencil:width=6,steps=5", "plain1n:count=50"):
        # given
        on = cluster(2, 2, 4, bandwidth=100.0, latency=0.005)
        outcome, turns = recorded(make(name, 1), on, Overheads(task=0.05))
        # when
        run = read(turns)
        answer = ask(run, SCHEDULER, [], [])
        # then
        assert run.makespan == pytest.approx(outcome.makespan)
        assert abs(answer.error) < 0.05, name


def test_another_scheduler_and_another_cluster_are_foretold() -> None:
    # given: what really happens in each case
    workload = make("stencil:width=8,steps=6", 1)
    here, there = cluster(2, 2, bandwidth=50.0), cluster(2, 2, 2, 2, bandwidth=50.0)
    before, turns = recorded(workload, here)
    after, _ = recorded(workload, there)
    # when
    run = read(turns)
    other = evolve(run.cluster, name="4x2", governors=there.governors)
    answer = ask(run, SCHEDULER, ["round-robin", SCHEDULER], [other])
    # then
    robin, same = answer.others
    assert answer.predicted(same) == pytest.approx(after.makespan, rel=0.15)
    assert after.makespan < before.makespan
    assert answer.sentence(same).startswith("with rain on 4x2 this run would have taken ")
    assert answer.sentence(robin).endswith(f" instead of {before.makespan:.3g} s")


def test_a_client_that_looks_at_results_before_it_goes_on_does_so_in_the_lab() -> None:
    # given: the second submit comes 2 s after the first task, the third 3 s after the second
    workload = Workload("batches")
    first = workload.add_task("first", 5)
    made = workload.add_object(10 * MIB, first)
    workload.add_task("second", 1, inputs=[made], batch=1)
    workload.add_task("third", 1, batch=2)
    workload.batches = [Batch(), Batch(delay=2, after=(first,)), Batch(delay=3)]
    outcome, turns = recorded(workload, cluster(4))
    # when
    run = read(turns)
    # then
    assert run.workload.batches == [Batch(), Batch(2.0, (0,)), Batch(3.0)]
    assert ask(run, SCHEDULER, [], []).same.outcome.makespan == pytest.approx(outcome.makespan)


def test_what_came_from_outside_has_its_size_in_the_lab() -> None:
    # given: bytes that travel with the submit, and some that were sent ahead of it
    workload = Workload("outside")
    inputs = [workload.add_object(100), workload.add_object(50 * MIB)]
    workload.add_task("read", 1, inputs=inputs)
    outcome, turns = recorded(workload, cluster(1, bandwidth=25.0))
    assert outcome.makespan == pytest.approx(3.0)
    # when
    run = read(turns)
    # then
    assert [made.size for made in run.workload.objects] == [100, 50 * MIB]
    assert ask(run, SCHEDULER, [], []).error == pytest.approx(0.0, abs=0.01)


def test_a_recording_without_finished_tasks_tells_nothing() -> None:
    with pytest.raises(LabError, match="no task has finished in the recording run"):
        read([TurnInput(1.0)])


def write(path: Path) -> Outcome:
    """A recording on the disk."""
    with Recorder.create(path, Header(SCHEDULER, PATIENT)) as recorder:
        return recorded(merge_neighbours(), cluster(2, 2), record=recorder)[0]


def test_the_command_says_what_would_have_been(tmp_path: Path) -> None:
    # given
    path, results = tmp_path / "run.rec", tmp_path / "results.json"
    outcome = write(path)
    # when
    words = ["lab", "--recording", str(path), "-s", "round-robin", "--cluster", "2x2,4x2"]
    result = RUNNER.invoke(cli, [*words, "--json", str(results)])
    # then
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "With round-robin this run would have taken" in said
    assert "With round-robin on 4x2 this run would have taken" in said
    values = json.loads(results.read_text())
    assert values["makespan"] == pytest.approx(outcome.makespan)
    assert [row["cluster"] for row in values["alternatives"]] == ["2x2", "4x2"]
    assert open_run(path)[1] == SCHEDULER


def test_what_is_no_recording_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run.rec"
    assert "run.rec: cannot be read: No such file" in refusal("--recording", str(path))
    path.write_bytes(b"something else")
    assert "run.rec: this is not a recording of Rain" in refusal("--recording", str(path))
    write(path)
    assert "name no other graph" in refusal("--recording", str(path), "fork1")
    assert "there is no scheduler 'x'" in refusal("--recording", str(path), "-s", "x")
