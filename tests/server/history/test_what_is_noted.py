"""What the turns of a server leave for the event log."""

from __future__ import annotations

from attrs import frozen

from rain.base.failures import OnFailure
from rain.base.ids import SessionId, TaskId, unpack
from rain.base.runs import RunCause
from rain.base.wire.update import TaskNote, Update
from tests.support.events import Logged, listen, logged, types
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.world import World, new_world


@frozen
class Work:
    """A governor that has been given the tasks of a session."""

    world: World
    governor: FakeGovernor
    client: FakeClient
    session: SessionId
    tasks: list[TaskId]


def work(tasks: int = 1) -> Work:
    """This number of tasks, all of which may run at once."""
    world = new_world()
    governor, client = world.governor(cpus=tasks), world.client()
    draft = client.session()
    made = [draft.task()[0] for _ in range(tasks)]
    client.submit(draft)
    return Work(world, governor, client, draft.session, made)


def test_nothing_is_noted_when_nobody_listens() -> None:
    world = new_world()
    world.governor()
    client = world.client()
    draft = client.session()
    draft.task()
    client.submit(draft)

    assert world.state.happenings is None


def test_the_life_of_a_session_is_noted_from_its_beginning_to_its_end() -> None:
    world = new_world()
    happenings = listen(world)

    governor = world.governor(cpus=2)
    client = world.client()
    draft = client.session("words")
    task, (output,) = draft.task(keep=True)
    client.submit(draft)
    governor.start(task)
    governor.finish(task)
    client.unkeep(output)
    client.close(draft.session)
    client.leave()

    rows = logged(happenings)
    assert types(rows) == [
        "GovernorNew",
        "ClientNew",
        "SessionNew",
        "ClientSubmit",
        "TaskStarted",
        "TaskFinished",
        "ClientUnkeep",
        "SessionClosed",
        "ClientRemoved",
    ]
    assert [row.session for row in rows] == [None, None, 1, 1, 1, 1, 1, 1, None]
    assert rows[0].event == {"type": "GovernorNew", "governor": governor.address}
    assert rows[1].event == {"type": "ClientNew", "client": "1"}
    assert rows[2].event == {
        "type": "SessionNew",
        "session": 1,
        "client": "1",
        "spec": {"name": "words"},
    }
    assert rows[4].event == {
        "type": "TaskStarted",
        "task": [*unpack(task)],
        "info": {"start_time": "1970-01-01T00:16:45.000+00:00", "governor": governor.address},
    }
    assert rows[5].event == {
        "type": "TaskFinished",
        "task": [*unpack(task)],
        "info": {
            "start_time": "1970-01-01T00:16:45.000+00:00",
            "duration": 0.5,
            "governor": governor.address,
        },
    }
    assert rows[6].event == {"type": "ClientUnkeep", "dataobjs": [[*unpack(output)]]}
    assert rows[7].event == {
        "type": "SessionClosed",
        "session": 1,
        "reason": "ClientClose",
        "message": "",
    }
    assert rows[8].event == {
        "type": "ClientRemoved",
        "client": "1",
        "error_msg": "the test is over",
    }


def test_a_task_whose_start_was_never_told_is_noted_as_started_before_it_is_finished() -> None:
    w = work(3)
    told, first, second = w.tasks
    w.governor.start(told)
    happenings = listen(w.world)

    w.governor.finish(told, first, second)

    rows = logged(happenings)
    assert [(row.type, row.event["task"]) for row in rows] == [
        ("TaskStarted", [*unpack(first)]),
        ("TaskStarted", [*unpack(second)]),
        ("TaskFinished", [*unpack(told)]),
        ("TaskFinished", [*unpack(first)]),
        ("TaskFinished", [*unpack(second)]),
    ]
    # The turn is half a second after the start, and each took half a second.
    assert rows[0].event["info"]["start_time"] == rows[3].event["info"]["start_time"]


def test_tasks_of_several_sessions_stay_apart() -> None:
    world = new_world()
    governor, client = world.governor(cpus=2), world.client()
    tasks: list[TaskId] = []
    for _ in range(2):
        draft = client.session()
        task, _ = draft.task()
        client.submit(draft)
        tasks.append(task)
    happenings = listen(world)

    governor.start(*tasks)

    assert [(row.session, row.event["task"][0]) for row in logged(happenings)] == [(1, 1), (2, 2)]


def test_what_a_task_said_about_itself_is_noted_with_its_end() -> None:
    w = work(2)
    silent, talking = w.tasks
    w.governor.start(silent, talking)
    happenings = listen(w.world)

    update = w.governor.finished(silent, talking)
    update.task_notes.append(TaskNote(talking, '{"words": [1, 2]}', 'it said "ä"'))
    w.governor.send(update)

    infos = [row.event["info"] for row in logged(happenings)]
    assert "user" not in infos[0]
    assert infos[1]["user"] == {"words": [1, 2]}
    assert infos[1]["debug"] == 'it said "ä"'
    assert infos[1]["duration"] == 0.5


def test_a_failing_task_is_noted_as_finished_with_its_error_and_ends_its_session_once() -> None:
    w = work()
    w.governor.start(*w.tasks)
    happenings = listen(w.world)

    w.governor.fail(w.tasks[0], "division by zero")
    w.client.close(w.session)

    finished, closed = logged(happenings)
    assert finished.type == "TaskFinished"
    assert finished.event["info"]["error"] == "division by zero"
    assert finished.event["info"]["duration"] == 1.0
    assert closed.event == {
        "type": "SessionClosed",
        "session": 1,
        "reason": "Error",
        "message": "division by zero",
    }


def test_a_task_that_fails_before_its_start_was_told_has_both_events() -> None:
    w = work()
    happenings = listen(w.world)

    w.governor.fail(w.tasks[0])

    assert types(logged(happenings)) == ["TaskStarted", "TaskFinished", "SessionClosed"]


def test_the_sessions_of_a_client_that_goes_are_closed_with_the_cause() -> None:
    world = new_world()
    client = world.client()
    client.session()
    happenings = listen(world)

    client.leave()

    closed, removed = logged(happenings)
    assert closed.event["reason"] == "ClientClose"
    assert closed.event["message"] == "the client has gone: the test is over"
    assert removed.type == "ClientRemoved"


def test_a_refused_request_is_noted_with_the_reason() -> None:
    world = new_world()
    client = world.client()
    draft = client.session()
    task, (output,) = draft.task()
    client.submit(draft)
    happenings = listen(world)

    client.unkeep(output)

    assert logged(happenings) == [
        Logged(
            "ClientInvalidRequest",
            None,
            {
                "type": "ClientInvalidRequest",
                "client": "1",
                "error_msg": "the data object 1/13 is not kept",
            },
            "1970-01-01T00:16:44.000+00:00",
        )
    ]
    assert task


def test_a_governor_that_leaves_and_one_that_is_dismissed_are_noted_with_the_cause() -> None:
    world = new_world()
    leaving, lying = world.governor(), world.governor()
    client = world.client()
    draft = client.session()
    task, _ = draft.task()
    client.submit(draft)
    happenings = listen(world)

    busy, idle = (leaving, lying) if task in leaving.tasks else (lying, leaving)
    idle.leave()
    update = Update()
    update.finished.ids.append(task)
    update.finished.runs.append(busy.tasks[task])
    update.finished.durations.append(0.0)
    update.finished.output_counts.append(0)
    busy.send(update)

    gone, dismissed = [row for row in logged(happenings) if row.type == "GovernorRemoved"]
    assert gone.event["governor"] == idle.address
    assert gone.event["error_msg"] == "killed by the test"
    assert "finished with 0 outputs" in dismissed.event["error_msg"]


def test_finished_objects_are_noted_only_when_it_was_asked_for() -> None:
    for with_objects in (False, True):
        world = new_world()
        governor, client = world.governor(), world.client()
        draft = client.session()
        task, (output,) = draft.task(keep=True)
        client.submit(draft)
        governor.start(task)
        happenings = listen(world, with_objects=with_objects)

        governor.finish(task, size=7000)

        objects = [row for row in logged(happenings) if row.type == "DataObjectFinished"]
        assert [row.event for row in objects] == with_objects * [
            {
                "type": "DataObjectFinished",
                "dataobject": [*unpack(output)],
                "governor": governor.address,
                "info": {"size": 7000},
            }
        ]


def test_many_tasks_of_one_update_are_one_happening() -> None:
    w = work(100)
    happenings = listen(w.world)

    w.governor.start(*w.tasks)
    w.governor.finish(*w.tasks)

    assert len(happenings.take().happenings) == 2


def test_beyond_the_limit_tasks_are_counted_and_the_ends_of_sessions_are_still_noted() -> None:
    w = work(10)
    happenings = listen(w.world, limit=1500)

    w.governor.start(*w.tasks)  # a turn is noted whole
    w.governor.finish(*w.tasks)
    w.client.close(w.session)
    taken = happenings.take()

    assert taken.lost == 10
    assert taken.count == 11
    assert happenings.take().lost == 0


def test_beyond_the_limit_tasks_of_which_each_ends_in_its_own_turn_are_counted() -> None:
    w = work(30)
    happenings = listen(w.world, limit=1500)

    for task in w.tasks:
        w.governor.finish(task)

    assert happenings.take().lost == 27  # those that are noted have 500 and 160 bytes each


def test_beyond_twice_the_limit_nothing_more_is_kept() -> None:
    world = new_world()
    client = world.client()
    happenings = listen(world, limit=1000)

    for _ in range(100):
        client.session()

    taken = happenings.take()
    assert len(taken.happenings) + taken.lost == 100
    assert len(taken.happenings) < 10


def test_tries_that_fail_and_tasks_that_are_skipped_are_noted() -> None:
    world = new_world()
    governor, client = world.governor(), world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    task, (made,) = draft.task()
    reader, _ = draft.task(made)
    client.submit(draft)
    happenings = listen(world)

    governor.start(task)
    governor.fail(task, "the first", RunCause.EXECUTOR)
    governor.fail(task, "the second\nand last")

    rows = logged(happenings)
    assert types(rows) == [
        "TaskStarted",
        "TaskRunFailed",
        "TaskStarted",
        "TaskFinished",
        "TaskSkipped",
    ]
    first = rows[1].event
    assert (first["task"], first["run"], first["cause"]) == ([*unpack(task)], 1, "executor")
    assert first["info"]["error"] == "the first"
    assert first["info"]["governor"] == governor.address
    assert rows[3].event["info"]["error"] == "the second\nand last"
    assert rows[4].event == {
        "type": "TaskSkipped",
        "task": [*unpack(reader)],
        "cause": [*unpack(task)],
        "error": "and last",
    }


def test_what_is_cancelled_is_not_called_skipped() -> None:
    world = new_world()
    governor, client = world.governor(), world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    task, (made,) = draft.task()
    reader, _ = draft.task(made)
    client.submit(draft)
    governor.start(task)
    happenings = listen(world)

    client.cancel(draft.session, task, always=True)

    rows = logged(happenings)
    assert types(rows) == ["TaskCancelled", "TaskCancelled"]
    assert [row.event for row in rows] == [
        {
            "type": "TaskCancelled",
            "task": [*unpack(one)],
            "cause": [*unpack(task)],
            "error": "it was cancelled",
        }
        for one in (task, reader)
    ]


def test_what_ran_on_a_lost_governor_is_noted_as_a_try_that_failed() -> None:
    w = work()
    w.governor.start(*w.tasks)
    happenings = listen(w.world)

    w.governor.leave()

    rows = logged(happenings)
    assert types(rows) == ["GovernorRemoved", "TaskRunFailed"]
    assert rows[1].event["cause"] == "governor"
