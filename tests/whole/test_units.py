"""Chains that run as one task, in a real cluster."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from rain.client import (
    Client,
    Output,
    OutputDir,
    RainException,
    Session,
    Task,
    TaskException,
    pickled,
    remote,
    task_session,
)
from rain.client.rpc.common import TaskState
from tests.support.chained import Node, described
from tests.support.chained_graphs import graphs
from tests.support.waiting import until_now
from tests.whole.daemons import governor, http_password, server

pytestmark = pytest.mark.whole

PICKLE = [Output(encode="pickle")]


@remote(outputs=PICKLE, auto_load=True)
def step(ctx: Any, value: int, number: int) -> int:
    """One more; some numbers are bad."""
    if number == 40:
        ctx.debug("now")
        raise ValueError("the fortieth link breaks")
    if number == -40:
        os._exit(3)
    return value + 1


@remote(outputs=PICKLE, auto_load=True)
def ones(ctx: Any, count: int) -> Any:
    return np.ones(count)


@remote(outputs=PICKLE, auto_load=True)
def doubled(ctx: Any, array: Any) -> Any:
    array *= 2  # which nobody else sees
    return array


@remote(outputs=PICKLE, auto_load=True)
def total(ctx: Any, array: Any) -> float:
    return float(array.sum())


@pytest.fixture(scope="module")
def client() -> Generator[Client, None, None]:
    with Client(cpus=2) as client:
        yield client


@pytest.fixture
def session(client: Client) -> Generator[Session, None, None]:
    with client.new_session("units", fuse=True) as session:
        yield session


def states(tasks: Iterable[Task]) -> list[str]:
    return [TaskState(task.state or 0).name for task in tasks]


def chain(numbers: range) -> list[Task]:
    tasks = [step(0, numbers[0])]
    for number in numbers[1:]:
        tasks.append(step(tasks[-1].output, number))
    return tasks


@settings(max_examples=15)
@given(graphs())
def test_a_fused_graph_computes_the_same(client: Client, nodes: list[Node]) -> None:
    values: list[list[Any]] = []
    for fuse in (False, True):
        with client.new_session("graph", fuse=fuse) as session:
            kept = described(nodes)
            values.append([data.load() for data in session.compute_all(kept)])
    assert values[0] == values[1]


def test_results_inside_that_are_kept_are_there(session: Session) -> None:
    tasks = chain(range(100, 400))
    kept = tasks[::50]
    for task in kept:
        task.output.keep()
    session.submit()
    session.wait_all()
    assert [task.output.fetch().load() for task in kept] == [1, 51, 101, 151, 201, 251]
    assert len({task.unit for task in tasks}) == 6 + 1  # the first is in none
    with pytest.raises(RainException, match="has disappeared inside the unit 'step x 50'"):
        tasks[1].output.fetch()


def test_units_read_what_other_units_have_made(session: Session) -> None:
    first = chain(range(100, 110))
    left, right = step(step(first[-1], 1), 2), step(step(first[-1], 3), 4)
    both = step(left, right)
    both.output.keep()
    session.submit()
    session.wait([*first, left, right])
    assert set(states(first)) == {"finished"}
    assert session.compute(both).load() == 13
    session.update([first[0], left, both])
    assert set(states((first[0], left, both))) == {"finished"}
    assert first[0].info is not None
    assert first[0].info.duration is not None


def test_a_failure_in_the_middle_names_its_own_task(session: Session) -> None:
    tasks = chain(range(100))
    session.submit()
    with pytest.raises(TaskException, match="the fortieth link breaks") as caught:
        session.wait(tasks)
    assert caught.value.task_id == tasks[40].id
    message = str(caught.value)
    assert f"Task {tasks[40]!r} failed\nIt is number 41 of 100 tasks" in message
    assert "tasks.append(step(tasks[-1].output, number))" in message
    assert "41 of 100 (step): now" in message
    assert states(tasks[38:42]) == [
        "finished",
        "finished",
        "failed",
        "notAssigned",
    ]


def test_the_end_of_the_executor_names_the_task_that_ran(session: Session) -> None:
    tasks = chain(range(-60, 0))
    session.submit()
    with pytest.raises(TaskException, match="exit code 3") as caught:
        session.wait(tasks)
    assert caught.value.task_id == tasks[20].id
    assert "It is number 21 of 60 tasks in the unit 'step x 60'" in str(caught.value)
    assert states(tasks[19:22]) == ["finished", "failed", "notAssigned"]


def test_the_end_of_an_executor_that_had_a_unit_before_names_no_other_task(
    client: Client,
) -> None:
    with client.new_session("one by one") as session:
        chain(range(3))
        session.submit(fuse=True)
        session.wait_all()
        alone = step(0, -40)
        session.submit()
        with pytest.raises(TaskException, match="exit code 3") as caught:
            alone.wait()
        assert caught.value.task_id == alone.id
        assert "in the unit" not in str(caught.value)


def test_a_unit_is_tried_as_a_whole(session: Session, tmp_path: Path) -> None:
    @remote(outputs=PICKLE, auto_load=True, tries=3)
    def note(ctx: Any, before: Any, place: int) -> Any:
        marks = len(list(tmp_path.glob(f"{place}-*")))
        (tmp_path / f"{place}-{marks}").touch()
        if place == 1 and marks < 2:
            raise ConnectionError("nobody answers")
        return marks

    first = note(None, 0)
    second = note(first, 1)
    last = note(second, 2)
    assert session.compute(last).load() == 0
    runs = [len(list(tmp_path.glob(f"{place}-*"))) for place in range(3)]
    assert runs == [3, 3, 1]
    second.update()
    assert second.info is not None
    assert [failed.cause for failed in second.info.failed_tries] == ["task", "task"]
    assert f"Task {second.id.session_id}/" in second.info.failed_tries[0].error


def test_in_a_session_that_goes_on_the_rest_goes_on(client: Client) -> None:
    with client.new_session("going on", on_failure="continue", fuse=True) as session:
        tasks = chain(range(38, 43))
        apart = chain(range(3))
        behind = [step(step(tasks[-1], 1), 2) for _ in range(2)]
        apart[-1].output.keep()
        session.submit()
        assert session.wait_some([tasks[3]]) == ([tasks[3]], [])
        assert states([tasks[3]]) == ["failed"]
        for task in (tasks[0], tasks[-1], behind[0]):
            with pytest.raises(TaskException) as caught:
                task.wait()
            assert caught.value.task_id == tasks[2].id
        assert apart[-1].output.fetch().load() == 3
        session.update([*tasks, *behind, tasks[0].output])
        assert states(tasks) == [
            "finished",
            "finished",
            "failed",
            "failed",
            "failed",
        ]
        assert set(states(behind)) == {"failed"}
        assert tasks[0].info is not None
        assert tasks[0].info.error == ""


def test_large_values_are_handed_over_as_they_are(session: Session) -> None:
    count = 2_000_000
    made = total(doubled(doubled(ones(count))))
    assert session.compute(made).load() == 4.0 * count


def test_a_unit_leaves_large_results_as_others_do(session: Session) -> None:
    made = doubled(ones(1_000_000))
    assert session.compute(made).load().sum() == 2_000_000


def test_folders_go_through_a_unit(session: Session) -> None:
    @remote(outputs=[OutputDir("folder")])
    def make(ctx: Any) -> Any:
        Path("made").mkdir()
        Path("made/file").write_text("data", encoding="utf-8")
        return ctx.stage_directory("made")

    @remote(outputs=[OutputDir("folder")])
    def more(ctx: Any, folder: Any) -> Any:
        folder.write("copy")
        Path("copy/more").write_text("more", encoding="utf-8")
        return ctx.stage_directory("copy")

    @remote(auto_encode="json")
    def names(ctx: Any, folder: Any) -> Any:
        return sorted(path.name for path in folder.path.iterdir())

    assert session.compute(names(more(more(make())))).load() == ["file", "more"]
    kept = more(make())
    kept.output.keep()
    session.submit()
    assert session.compute(names(kept)).load() == ["file", "more"]


def test_what_a_unit_passes_on_is_the_input_itself(session: Session) -> None:
    @remote()
    def same(ctx: Any, given: Any) -> Any:
        return given

    large = pickled(list(range(100_000)))
    made = same(same(same(large)))
    assert session.compute(made).load() == list(range(100_000))


def test_a_task_inside_may_submit_to_its_session(client: Client) -> None:
    @remote(outputs=PICKLE, auto_load=True, cpus=0)
    def submit(ctx: Any, value: int) -> int:
        with task_session(ctx) as joined:
            inner = joined.compute(step(value, 0))
            result: int = inner.load()
            return result

    with client.new_session("nested", fuse=True) as session:
        assert session.compute(submit(submit(0))).load() == 2


def test_each_task_notes_its_own(session: Session) -> None:
    @remote(outputs=PICKLE, auto_load=True)
    def noting(ctx: Any, value: int) -> int:
        ctx.info.user["value"] = value
        ctx.debug("value {}", value)
        return value + 1

    tasks = [noting(0)]
    tasks += [noting(tasks[0])]
    tasks += [step(tasks[1], 0)]
    session.submit()
    session.wait_all()
    session.update(tasks)
    infos = [task.info for task in tasks if task.info is not None]
    assert [info.user for info in infos] == [{"value": 0}, {"value": 1}, {}]
    assert infos[0].debug.split("\n") == ["1 of 3 (noting): value 0", "2 of 3 (noting): value 1"]


def test_a_unit_that_runs_is_stopped_with_its_session(client: Client) -> None:
    @remote(outputs=PICKLE, auto_load=True)
    def slow(ctx: Any, value: int) -> int:
        time.sleep(60)
        return value

    with client.new_session("stopped", fuse=True) as session:
        slow(slow(slow(0)))
        session.submit()
    with client.new_session("next") as session:
        assert session.compute(step(0, 0)).load() == 1


def test_another_client_reads_what_a_unit_has_made(client: Client) -> None:
    with client.new_session("shared units", fuse=True) as session:
        made = chain(range(5))
        made[-1].output.keep()
        session.submit()
        guest = client.join_session(session.session_id, fuse=True)
        found = guest.data_object(made[-1].output.id)
        with guest.bind_only():
            assert guest.compute(step(step(found, 0), 0)).load() == 7
        with pytest.raises(RainException):
            guest.data_object(made[0].output.id)


def test_many_short_chains_learn_how_short_they_are(session: Session) -> None:
    """Units of one form are of one kind, so that executors hold several of them."""
    ends = [step(step(i, 1), 2) for i in range(500)]
    for end in ends:
        end.output.keep()
    session.submit()
    assert [data.load() for data in session.fetch_all([end.output for end in ends])] == [
        i + 2 for i in range(500)
    ]


def events_of(http: str, kind: str) -> list[dict[str, Any]]:
    asked = HTTPConnection(http, timeout=20)
    asked.request(
        "POST",
        "/events",
        json.dumps({"event_types": [{"value": kind, "mode": "="}]}),
        http_password(http),
    )
    rows = json.loads(asked.getresponse().read())
    asked.close()
    return [row["event"] for row in rows]


def test_the_event_log_shows_what_is_inside(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "governor", serving.address),
        Client("127.0.0.1", serving.port) as client,
    ):
        with client.new_session("log", fuse=True):
            tasks = chain(range(39, 43))
            with pytest.raises(TaskException):
                tasks[0].session.compute(tasks[-1])
        logged = until_now(lambda: events_of(serving.http, "TaskFinished"))
        submitted = events_of(serving.http, "ClientSubmit")
    (spec,) = submitted[0]["tasks"]
    assert (spec["name"], spec["task_type"]) == ("step x 4", "py/fused")
    assert [one.get("label") for one in spec["inputs"]] == ["function"]
    first_line = logged[0]["info"]["error"].splitlines()[0]
    assert first_line == f"Task {tasks[1].id!r} 'step', call 2 of 4 in this unit, has failed:"
