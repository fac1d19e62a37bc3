"""Spec 1.5: sessions, what is active, and what a submit sends."""

import threading
from collections.abc import Callable

import pytest

from rain.base.errors import RefusedError
from rain.client import (
    DataObject,
    RainException,
    Session,
    Task,
    blob,
    remote,
    tasks,
)
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.session import get_active_session
from tests.client.fake import World, world


@remote()
def work(ctx: object, value: object = None) -> object:
    return value


def test_entering_makes_active_and_leaving_closes() -> None:
    session = Session(None, 1)

    with session as entered:
        assert entered is session
        assert get_active_session() is session

    assert not session.active
    with pytest.raises(RainException, match="no active session"):
        get_active_session()
    with pytest.raises(RainException, match="Session is closed"), session:
        pass


def test_sessions_nest_and_the_innermost_is_active() -> None:
    with Session(None, 1) as outer:
        with Session(None, 2) as inner:
            assert get_active_session() is inner
        assert get_active_session() is outer


def test_a_session_may_be_entered_twice_and_the_inner_end_closes_it() -> None:
    with Session(None, 1) as session:
        with session:
            pass

        assert not session.active
        with pytest.raises(RainException, match="Session is closed"):
            blob("too late")


def test_bind_only_does_not_close() -> None:
    session = Session(None, 1)

    with session.bind_only() as bound:
        assert bound is session
        assert get_active_session() is session

    assert session.active
    session.close()
    with pytest.raises(RainException, match="Session is closed"), session.bind_only():
        pass


def test_a_default_session_serves_the_whole_process_until_it_is_closed() -> None:
    session = Session(None, 1, default=True)
    seen: list[Session] = []
    thread = threading.Thread(target=lambda: seen.append(get_active_session()))
    thread.start()
    thread.join()

    assert seen == [session]
    with Session(None, 2) as other:
        assert get_active_session() is other
    assert get_active_session() is session
    session.close()
    with pytest.raises(RainException):
        get_active_session()


def test_a_later_default_takes_over() -> None:
    first, second = Session(None, 1, default=True), Session(None, 2)
    second.set_as_default()
    first.close()

    assert get_active_session() is second


def test_the_stack_of_one_thread_is_not_that_of_another() -> None:
    errors: list[str] = []

    def look() -> None:
        try:
            get_active_session()
        except RainException as error:
            errors.append(str(error))

    with Session(None, 1):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    assert len(errors) == 1


def test_counts_are_of_what_was_not_submitted(here: World) -> None:
    with here.session as session:
        tasks.Concat([blob("a"), blob("b")])
        assert (session.task_count, session.dataobj_count) == (1, 3)
        session.submit()
        assert (session.task_count, session.dataobj_count) == (0, 0)


def test_an_output_that_the_user_made_counts_once(session: Session) -> None:
    made = DataObject("made")
    task = Task((), [made], task_type="executor/make")

    assert session.dataobj_count == 1
    assert task.output is made


def test_closing_works_without_a_client_and_twice() -> None:
    session = Session(None, 1)
    with session.bind_only():
        blob("x")

    session.close()
    session.close()

    assert session.dataobj_count == 0
    assert "closed" in repr(session)


def test_a_session_without_a_client_has_nobody_to_ask(session: Session) -> None:
    work(1)

    for call in (Session.submit, Session.wait_all):
        with pytest.raises(RainException, match="no client"):
            call(session)
    with pytest.raises(RainException, match="no client"):
        session.update([])


def test_closing_tells_the_server(here: World) -> None:
    here.session.close()
    here.session.close()

    assert here.server.calls == ["open_session", "close_session"]
    with pytest.raises(RainException, match="Session is closed"):
        here.session.submit()


def test_submitted_things_have_states(here: World) -> None:
    with here.session as session:
        const = blob("x")
        task = work(const)
        assert task.state is None
        assert const.state is None
        assert task.output.state is None

        session.submit()

        assert task.state is TaskState.notAssigned
        assert task.output.state is DataObjectState.unfinished
        assert const.state is DataObjectState.unfinished


def test_each_submit_sends_what_is_new(here: World) -> None:
    with here.session as session:
        first = work(1)
        first.output.keep()
        session.submit()
        second = work(first)
        session.submit()
        session.submit()

        assert len(here.server.submissions) == 2
        assert here.server.submissions[1].tasks.ids == [second.packed_id]
        assert first.output.packed_id in here.server.submissions[1].tasks.inputs


def test_a_refused_submit_changes_nothing_and_can_be_repeated(here: World) -> None:
    with here.session as session:
        const = blob("x")
        task = work(const)
        here.server.errors["submit"] = RefusedError("a cycle")

        with pytest.raises(RainException, match="a cycle"):
            session.submit()

        assert (session.task_count, session.dataobj_count) == (1, 3)
        assert task.state is None
        here.server.errors.clear()
        session.submit()
        (message,) = here.server.submissions
        assert message.tasks.ids == [task.packed_id]
        assert [kind.name for kind in message.task_kinds] == ["work"]
        assert here.server.data[const.packed_id] == b"x"


@pytest.mark.parametrize("left", [True, False])
def test_what_was_interrupted_is_submitted_once(here: World, *, left: bool) -> None:
    with here.session as session:
        task = work(1)
        here.server.errors["submit"], here.server.left = KeyboardInterrupt(), left

        with pytest.raises(KeyboardInterrupt):
            session.submit()

        here.server.errors.clear()
        session.submit()
        assert [message.tasks.ids for message in here.server.submissions] == (
            [] if left else [[task.packed_id]]
        )


def test_a_submit_need_not_wait_for_its_answer(here: World) -> None:
    with here.session as session:
        task = work(1)

        session.submit(soon=True)

        assert "submit_soon" in here.server.calls
        assert task.state is TaskState.notAssigned


def test_objects_of_another_session_are_refused_at_submit(here: World) -> None:
    other = here.client.new_session()
    with other.bind_only():
        foreign = blob("x")
    with here.session as session:
        work(foreign)

        with pytest.raises(RainException, match="belongs to another session"):
            session.submit()
        assert here.server.submissions == []


def test_an_object_that_nobody_makes_is_refused_at_submit(here: World) -> None:
    with here.session as session:
        DataObject("orphan")

        with pytest.raises(RainException, match="'orphan' blob> has no data"):
            session.submit()


def test_keep_all_keeps_everything_that_was_not_submitted(here: World) -> None:
    with here.session as session:
        before = work(1)
        session.submit()
        const = blob("x")
        after = work(const)

        session.keep_all()

        assert const.is_kept()
        assert after.output.is_kept()
        assert not before.output.is_kept()
        session.submit()
        assert {const.packed_id, after.output.packed_id} <= set(here.server.submissions[1].kept)


def test_what_other_threads_add_during_a_submit_is_not_lost(here: World) -> None:
    session = here.session
    each = 300

    def build() -> None:
        for i in range(each):
            work(i, session=session)

    def submit() -> None:
        while any(thread.is_alive() for thread in builders):
            session.submit()

    builders = [threading.Thread(target=build) for _ in range(3)]
    submitters = [threading.Thread(target=submit) for _ in range(2)]
    for thread in [*builders, *submitters]:
        thread.start()
    for thread in [*builders, *submitters]:
        thread.join()
    session.submit()

    sent = [task for message in here.server.submissions for task in message.tasks.ids]
    assert len(sent) == len(set(sent)) == 3 * each


# Unkeep.


def test_unkeep_of_something_new_is_only_noted(here: World) -> None:
    with here.session as session:
        const = blob("x")
        const.keep()

        session.unkeep([const])

        assert not const.is_kept()
        assert here.server.unkept == []
        with pytest.raises(RainException, match="not kept"):
            const.unkeep()


def test_unkeep_of_something_submitted_goes_to_the_server(here: World) -> None:
    with here.session as session:
        first, second = blob("x"), blob("y")
        session.keep_all()
        session.submit()

        session.unkeep([first, second])

        assert here.server.unkept == [[first.packed_id, second.packed_id]]
        assert not first.is_kept()


def test_the_flag_stays_when_the_server_refuses(here: World) -> None:
    with here.session as session:
        const = blob("x")
        const.keep()
        session.submit()
        here.server.errors["unkeep"] = RefusedError("no")

        with pytest.raises(RainException, match="no"):
            const.unkeep()

        assert const.is_kept()
        here.server.errors.clear()


def test_only_objects_are_unkept(here: World) -> None:
    with here.session as session, pytest.raises(TypeError):
        session.unkeep([work(1)])  # type: ignore[list-item] # pyright: ignore[reportArgumentType] # the mistake


@pytest.mark.parametrize("call", [Session.wait_all, Session.submit, Session.keep_all])
def test_calls_on_an_empty_session_do_nothing(call: Callable[[Session], None]) -> None:
    with world() as made:
        call(made.session)

        assert made.server.calls == ["open_session"]
