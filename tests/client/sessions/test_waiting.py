"""Spec 1.5: waiting and fetching."""

from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import RefusedError
from rain.client import RainException, TimeoutException, blob, directory, remote
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.session import Session
from rain.client.sessions import waiting
from rain.client.sessions.waiting import NAMED_AT_MOST
from rain.client.task import Task
from tests.client.fake import World


@remote()
def work(ctx: object, value: object = None) -> object:
    return value


def submitted(session: Session, count: int = 1) -> list[Task]:
    made = [work(i, session=session) for i in range(count)]
    for task in made:
        task.output.keep()
    session.submit()
    return made


def test_wait_marks_what_was_waited_for(here: World) -> None:
    first, second = submitted(here.session, 2)

    here.session.wait([first])

    assert first.state is TaskState.finished
    assert first.output.state is DataObjectState.finished
    assert second.state is TaskState.notAssigned
    assert first.info is None


def test_wait_takes_objects_alone(here: World) -> None:
    (task,) = submitted(here.session)

    task.output.wait()

    assert here.server.waits == [([], [task.output.packed_id], "all", None)]
    assert task.output.state is DataObjectState.finished


def test_only_what_is_not_known_to_be_finished_is_asked_for(here: World) -> None:
    first, second = submitted(here.session, 2)
    first.wait()

    here.session.wait([first, second, first.output])
    here.session.wait([first, second])

    assert [wait[0] for wait in here.server.waits] == [[first.packed_id], [second.packed_id]]


def test_wait_refuses_other_things(here: World) -> None:
    (task,) = submitted(here.session)
    other = here.client.new_session()
    foreign = work(session=other)
    other.submit()

    with pytest.raises(TypeError, match="neither"):
        here.session.wait([task, "text"])  # type: ignore[list-item] # pyright: ignore[reportArgumentType] # the mistake
    with pytest.raises(RainException, match="not submitted"):
        here.session.wait([work(session=here.session)])
    with pytest.raises(RainException, match="another session"):
        here.session.wait([foreign])
    assert here.server.waits == []


def test_a_wait_that_takes_too_long_says_so(here: World) -> None:
    (task,) = submitted(here.session)
    here.server.unfinished = {task.packed_id}

    with pytest.raises(TimeoutException, match=r"after 0\.5 seconds"):
        task.wait(timeout=0.5)
    with pytest.raises(TimeoutException):
        here.session.wait_all(timeout=0.5)

    assert task.state is TaskState.notAssigned
    assert [wait[3] for wait in here.server.waits] == [0.5, 0.5]


def test_wait_all_waits_for_every_submit_and_only_once(here: World) -> None:
    (first,) = submitted(here.session)
    (second,) = submitted(here.session)
    later = work(session=here.session)

    here.session.wait_all()
    here.session.wait_all()

    assert here.server.waits == [([], [], "session", None)]
    assert first.state is second.state is TaskState.finished
    assert second.output.state is DataObjectState.finished
    assert later.state is None
    here.session.submit()
    assert later.state is TaskState.notAssigned


def test_wait_some_answers_with_what_is_finished(here: World) -> None:
    made = submitted(here.session, 3)
    here.server.unfinished = {made[0].packed_id, made[0].output.packed_id}

    done = here.session.wait_some([*made, made[0].output, made[2].output])

    assert done == ([made[1], made[2]], [made[2].output])
    assert made[0].state is TaskState.notAssigned
    assert made[1].state is TaskState.finished


def test_wait_some_asks_as_long_as_anything_may_be_unfinished(here: World) -> None:
    first, second = submitted(here.session, 2)
    first.wait()

    # A program that always names all of its tasks sees each of them finish.
    assert here.session.wait_some([first, second]) == ([first, second], [])

    asked = len(here.server.waits)
    assert here.session.wait_some([first, second]) == ([first, second], [])
    assert here.session.wait_some([]) == ([], [])
    assert len(here.server.waits) == asked


def test_wait_some_is_empty_after_its_timeout(here: World) -> None:
    (task,) = submitted(here.session)
    here.server.unfinished = {task.packed_id}

    assert here.session.wait_some([task], timeout=0.1) == ([], [])


def test_each_of_many_that_are_done_is_told_once(here: World) -> None:
    made = submitted(here.session, 100)
    pending = list(made)
    # when: a program takes one after the other, and names the rest again
    while pending:
        if not here.server.done or len(pending) == 50:
            here.server.done += [task.packed_id for task in pending[:50]]
        done, _ = here.session.wait_some(pending)
        assert done
        assert done[0].output.state is DataObjectState.finished
        pending.remove(done[0])
    # then
    assert here.server.told == 100
    named = [wait for wait in here.server.waits if len(wait[0]) > NAMED_AT_MOST]
    assert named == []


def test_a_loop_that_takes_one_after_the_other_asks_seldom_and_misses_nothing(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(waiting, "monotonic", lambda: now[0])
    tasks = submitted(here.session, 40)
    here.server.done = [task.packed_id for task in tasks[:10]]

    # when
    for _ in range(5):
        assert here.session.wait_some(tasks) == (tasks[:10], [])
    here.server.done += [tasks[20].packed_id]
    now[0] += waiting.GLANCE

    # then: what is done meanwhile is heard of when time has passed
    assert here.session.wait_some(tasks) == ([*tasks[:10], tasks[20]], [])
    assert [mode for _, _, mode, _ in here.server.waits] == ["news", "glance"]


def test_a_failed_task_counts_as_done_among_many(here: World) -> None:
    made = submitted(here.session, 100)
    here.server.done = [made[3].packed_id, made[5].packed_id]
    here.server.failed_tasks = {made[5].packed_id}

    done, _ = here.session.wait_some(made)

    assert done == [made[3], made[5]]
    assert made[3].state is TaskState.finished
    assert made[5].state is TaskState.failed
    assert here.session.wait_some(made) == (done, [])


def test_a_constant_counts_as_done_at_once_among_many(here: World) -> None:
    made = submitted(here.session, 100)
    with here.session.bind_only():
        constant = blob(b"x")
    here.session.submit()

    assert here.session.wait_some([*made, constant]) == ([], [constant])


def test_many_that_are_not_finished_are_none_after_the_timeout(here: World) -> None:
    made = submitted(here.session, 100)

    assert here.session.wait_some(made, timeout=0.1) == ([], [])


def test_the_server_is_told_for_how_long_many_are_waited_for(here: World) -> None:
    made = submitted(here.session, 100)
    here.server.done = [made[3].packed_id]
    here.session.wait_some(made, timeout=60)
    (timeout,) = [wait[3] for wait in here.server.waits if wait[2] == "news"]
    assert timeout is not None
    assert timeout <= 60


def test_an_object_that_is_done_is_told_among_many(here: World) -> None:
    outputs = [task.output for task in submitted(here.session, 100)]
    here.server.done = [outputs[3].packed_id]
    assert here.session.wait_some(outputs, timeout=60) == ([], [outputs[3]])
    assert here.session.wait_some(outputs, timeout=60) == ([], [outputs[3]])


# Fetching.


def test_a_fetched_object_knows_its_info(here: World) -> None:
    (task,) = submitted(here.session)
    number = task.output.packed_id
    here.server.outputs[number] = b"[1]"
    here.server.content_types[number] = "json"
    here.server.notes[number] = '{"seen": true}'

    instance = task.output.fetch()

    assert instance.load() == [1]
    assert instance.object_id == task.output.id
    assert task.output.info is not None
    assert task.output.info.size == 3
    assert task.output.info.user == {"seen": True}
    assert task.output.content_type == "json"
    assert task.output.state is DataObjectState.finished


def test_fetch_needs_a_kept_and_submitted_object(here: World) -> None:
    with here.session:
        const = blob("x")

        with pytest.raises(RainException, match="is not kept"):
            const.fetch()
        const.keep()
        with pytest.raises(RainException, match="was not submitted"):
            const.fetch()
        with pytest.raises(TypeError):
            here.session.fetch("x")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # the mistake
        here.session.submit()

        assert const.fetch().get_bytes() == b"x"


def test_what_a_wait_delivers_is_not_fetched_again(here: World) -> None:
    (task,) = submitted(here.session)
    here.server.outputs[task.output.packed_id] = b"small"

    here.session.wait_all()

    assert task.output.fetch().get_bytes() == b"small"
    assert task.output.fetch().get_bytes() == b"small"
    assert task.output.info is not None
    assert task.output.info.size == 5
    assert "fetch" not in here.server.calls


def test_large_results_are_fetched(here: World) -> None:
    (task,) = submitted(here.session)
    here.server.outputs[task.output.packed_id] = bytes(100_000)

    task.wait()

    assert len(task.output.fetch().get_bytes()) == 100_000
    assert here.server.calls.count("fetch") == 1


def test_several_small_objects_come_with_one_wait(here: World) -> None:
    made = submitted(here.session, 5)
    for i, task in enumerate(made):
        here.server.outputs[task.output.packed_id] = bytes([i])

    found = here.session.fetch_all(task.output for task in made)

    assert [instance.get_bytes() for instance in found] == [bytes([i]) for i in range(5)]
    assert here.server.calls.count("wait") == 1
    assert not {"fetch", "fetch_many"} & set(here.server.calls)


def test_several_objects_that_do_not_come_by_themselves_are_fetched_with_one_call(
    here: World,
) -> None:
    made = submitted(here.session, 5)
    for i, task in enumerate(made):
        here.server.outputs[task.output.packed_id] = bytes([i])
        here.server.notes[task.output.packed_id] = "{}"

    found = here.session.fetch_all(task.output for task in made)

    assert [instance.get_bytes() for instance in found] == [bytes([i]) for i in range(5)]
    assert here.server.calls.count("fetch_many") == 1
    assert "fetch" not in here.server.calls


def test_a_blob_is_downloaded_piece_by_piece(here: World, tmp_path: Path) -> None:
    (task,) = submitted(here.session)
    here.server.outputs[task.output.packed_id] = bytes(range(25))

    task.output.download(tmp_path / "result")

    assert (tmp_path / "result").read_bytes() == bytes(range(25))
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert task.output.info is not None
    assert task.output.info.size == 25
    assert task.output.state is DataObjectState.finished


def test_a_downloaded_directory_is_unpacked(here: World, tmp_path: Path) -> None:
    with here.session as session:
        folder = directory({"a": "A", "sub": {"b": "B"}})
        folder.keep()
        session.submit()

        folder.download(str(tmp_path / "result"))

        assert (tmp_path / "result" / "sub" / "b").read_text() == "B"
        assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_a_download_that_fails_leaves_nothing(here: World, tmp_path: Path) -> None:
    (task,) = submitted(here.session)
    here.server.errors["fetch"] = RefusedError("it is gone")

    with pytest.raises(RainException, match="it is gone"):
        task.output.download(tmp_path / "result")

    assert list(tmp_path.iterdir()) == []
    here.server.errors.clear()
    task.output.unkeep()
    with pytest.raises(RainException, match="not kept"):
        task.output.download(tmp_path / "result")


def test_what_is_unkept_can_not_be_fetched_any_more(here: World) -> None:
    (task,) = submitted(here.session)
    here.session.wait_all()

    task.output.unkeep()

    with pytest.raises(RainException, match="not kept"):
        task.output.fetch()


def test_a_timeout_that_is_a_second_item_is_refused_by_name(here: World) -> None:
    first, second = submitted(here.session, 2)
    wrong: Any = [second]
    for wait in (here.session.wait, here.session.wait_some):
        with pytest.raises(TypeError, match=r"timeout is .* it must be a number of seconds"):
            wait([first], wrong)
    many = submitted(here.session, NAMED_AT_MOST + 1)
    with pytest.raises(TypeError, match=r"timeout is .* it must be a number of seconds"):
        here.session.wait_some(many, wrong)
    with pytest.raises(TypeError, match=r"timeout is .* it must be a number of seconds"):
        here.session.wait_all("soon")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
