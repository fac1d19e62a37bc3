"""Spec 1.5 and 4.6: sessions on a real server."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rain.client import (
    Client,
    DataObject,
    RainException,
    Session,
    SessionException,
    Task,
    TaskException,
    TimeoutException,
    blob,
    remote,
    tasks,
)
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.session import get_active_session
from tests.compat.running import result
from tests.support.modes import in_processes

pytestmark = pytest.mark.whole


@remote(auto_load=True, auto_encode="pickle")
def add(ctx: Any, a: Any, b: Any = 0) -> Any:
    return a + b


@remote()
def fail(ctx: Any, data: Any) -> bytes:
    raise ValueError("Hello world!")


def test_counts_are_zero_after_submit_and_states_are_the_first_ones(session: Session) -> None:
    slow = tasks.Sleep(blob("x"), 60)
    assert (session.task_count, session.dataobj_count) == (1, 2)
    assert (slow.state, slow.output.state) == (None, None)

    session.submit()

    assert (session.task_count, session.dataobj_count) == (0, 0)
    assert (slow.state, slow.output.state) == (TaskState.notAssigned, DataObjectState.unfinished)


def test_submit_after_submit_builds_on_kept_objects(session: Session) -> None:
    task = add(0)
    for _ in range(20):
        task.output.keep()
        session.submit()
        task = add(task, 1)
    task.output.keep()
    session.submit()

    assert task.output.fetch().load() == 20


def test_waiting_for_an_object_alone_waits_for_it(session: Session) -> None:
    task = tasks.Sleep(blob("x"), 0.1)
    session.submit()

    session.wait([task.output])
    task.update()

    assert task.output.state is DataObjectState.finished
    assert task.state is TaskState.finished


def test_wait_some_tells_tasks_and_objects_apart(session: Session) -> None:
    quick, slow = add(1), tasks.Sleep(blob("x"), 60)
    session.submit()

    assert session.wait_some([slow, quick.output]) == ([], [quick.output])
    assert session.wait_some([slow, quick, quick.output]) == ([quick], [quick.output])


@in_processes
def test_a_wait_that_takes_too_long_says_how_long_it_was(session: Session) -> None:
    slow = tasks.Sleep(blob("x"), 60)
    session.submit()

    for wait in (slow.wait, session.wait_all):
        with pytest.raises(TimeoutException, match=r"after 0\.01 seconds"):
            wait(timeout=0.01)


def test_wait_all_waits_for_every_submit_and_then_returns_at_once(session: Session) -> None:
    first = tasks.Sleep(blob("x"), 0.1)
    session.submit()
    second = add(1)
    session.submit()

    session.wait_all()
    session.wait_all()

    assert (first.state, second.state) == (TaskState.finished, TaskState.finished)


def test_objects_of_different_sessions_cannot_be_combined(client: Client) -> None:
    with client.new_session("one") as one:
        foreign = blob("x")
        with client.new_session("two") as two:
            add(foreign)
            with pytest.raises(RainException, match="another session"):
                two.submit()
        assert get_active_session() is one


def test_a_default_session_serves_until_it_is_closed(client: Client) -> None:
    session = client.new_session("default", default=True)
    assert result(add(20, 22)) != b""
    session.close()

    with pytest.raises(RainException, match="no active session"):
        get_active_session()


def test_a_failed_session_says_the_same_to_every_call_and_can_be_closed(client: Client) -> None:
    with client.new_session("failing") as session:
        constant = blob("kept")
        constant.keep()
        task = fail(constant)
        session.submit()
        calls: list[Callable[[], object]] = [
            task.wait,
            session.wait_all,
            constant.fetch,
            constant.update,
            task.update,
            constant.unkeep,
            lambda: session.wait_some([task]),
        ]
        for call in calls:
            with pytest.raises(TaskException, match="Hello world!") as caught:
                call()
            assert caught.value.task_id == task.id
        assert constant.is_kept()  # the call that should have let it go was refused
        assert session.active
    assert not session.active


@in_processes
def test_a_task_that_fails_later_ends_waits_that_have_begun(client: Client) -> None:
    @remote()
    def fail_later(ctx: Any, data: Any) -> bytes:
        raise ValueError("later")

    with client.new_session("failing") as session:
        never = tasks.Sleep(blob("x"), 60)
        fail_later(tasks.Sleep(blob("x"), 0.1))
        session.submit()
        with pytest.raises(TaskException, match="later"):
            never.wait()


def test_a_session_that_fails_leaves_others_alone(client: Client) -> None:
    with client.new_session("good") as good:
        kept = tasks.Concat([blob("x")])
        kept.output.keep()
        slow = tasks.Sleep(kept, 0.2)
        slow.output.keep()
        good.submit()
        with client.new_session("bad") as bad:
            task = fail(blob("x"))
            bad.submit()
            with pytest.raises(TaskException):
                task.wait()

        assert slow.output.fetch().get_bytes() == b"x"
        assert kept.output.fetch().get_bytes() == b"x"


def test_closing_a_session_ends_what_another_thread_waits_for(client: Client) -> None:
    session = client.new_session("closed")
    with session.bind_only():
        task = tasks.Sleep(blob("x"), 60)
        task.output.keep()
    session.submit()
    closer = threading.Timer(0.1, session.close)
    closer.start()

    with pytest.raises(SessionException, match="closed"):
        task.output.fetch()
    closer.join()
    with pytest.raises(RainException, match="Session is closed"):
        task.wait()


def test_a_cycle_and_an_object_that_nobody_makes_are_refused_whole(session: Session) -> None:
    a, b = DataObject("a"), DataObject("b")
    Task((a,), (b,), task_type="buildin/concat")
    Task((b,), (a,), task_type="buildin/concat")

    with pytest.raises(RainException, match="cycle"):
        session.submit()

    assert session.task_count == 2
    assert a.state is None


def test_twenty_thousand_small_tasks_are_one_submit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A cluster of its own without the checker, which recounts the whole graph after every turn.
    monkeypatch.delenv("RAIN_DEBUG_MODE")
    with Client(cpus=2, governors=2) as client, client.new_session("many") as session:
        constant = blob(b".")
        made = [tasks.Concat([constant]) for _ in range(20_000)]
        last = tasks.Concat(made)
        last.output.keep()
        session.submit()

        assert last.output.fetch().get_bytes() == 20_000 * b"."
        session.wait_all()
        assert made[-1].state is TaskState.finished


@in_processes
def test_fifty_megabytes_cross_two_governors(session: Session) -> None:
    data = bytes(range(256)) * 200_000
    constant = blob(data)
    constant.keep()
    # One cpu of one governor cannot run these at the same time.
    sleeping = [tasks.Sleep(constant, 0.3, cpus=2) for _ in range(2)]
    joined = tasks.Concat(sleeping)
    joined.output.keep()
    session.submit()

    assert joined.output.fetch().get_bytes() == 2 * data
    assert constant.fetch().get_bytes() == data
    session.update(sleeping)
    assert len({task.info.governor for task in sleeping if task.info is not None}) == 2


def test_make_graph_works_for_every_kind_of_node(session: Session) -> None:
    joined = tasks.Concat([blob("a", label="first"), add(1)], name="join")
    joined.output.keep()

    dot = session.make_graph().make_dot()

    assert "join" in dot
    assert "first" in dot
    assert dot.count("->") == 5  # the three inputs of the tasks and their two outputs
    assert f"{joined.id}" in dot
    assert f"{joined.id}" not in session.make_graph(show_ids=False).make_dot()


def test_a_thread_that_waits_does_not_hold_up_others(session: Session) -> None:
    slow = tasks.Sleep(blob("x"), 0.1)
    session.submit()
    waiter = threading.Thread(target=slow.wait)
    waiter.start()
    answered = 0
    while waiter.is_alive():
        slow.update()
        answered += 1
    waiter.join()
    slow.update()  # the last answer may have been on its way before the end

    assert answered > 1
    assert slow.state is TaskState.finished
