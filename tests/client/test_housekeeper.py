"""Spec 1.6: what happens when handles of kept objects are collected."""

import gc
import threading

import pytest

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, TaskId, pack
from rain.base.wire.answers import Delivery
from rain.client import Session, blob, housekeeper, tasks
from rain.client.results import ResultStore
from rain.client.session import Session as PlainSession
from tests.client.fake import World


def dropped(session: Session, count: int = 1, *, keep: bool = True) -> list[int]:
    """Submits objects and lets their handles go."""
    made = [blob("x", session_label(i)) for i in range(count)]
    for obj in made:
        if keep:
            obj.keep()
    session.submit()
    return [obj.packed_id for obj in made]


def all_unkept(here: World) -> list[int]:
    return [number for ids in here.server.unkept for number in ids]


def session_label(i: int) -> str:
    return f"object {i}"


def test_collected_handles_of_kept_objects_are_unkept_together(here: World) -> None:
    told = threading.Event()
    here.server.on_unkeep = told.set
    with here.session as session:
        ids = dropped(session, 5)
        gc.collect()

        assert told.wait(10)
        here.client.housekeeper.flush()
        assert sorted(all_unkept(here)) == ids


def test_many_handles_are_told_in_several_messages(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeper, "TOLD_AT_ONCE", 2)
    keeper, session = here.client.housekeeper, here.session.session_id
    for number in range(10, 15):
        keeper.drop(ObjectId(pack(session, number)), holds_data=False)
    keeper.drop_task(TaskId(pack(session, 20)))

    keeper.flush()

    assert [len(ids) for ids in here.server.unkept] == [2, 2, 1]
    assert all_unkept(here) == [pack(session, number) for number in range(10, 15)]
    assert here.server.gone_tasks == [pack(session, 20)]


def test_a_call_that_could_see_the_difference_flushes_first(here: World) -> None:
    with here.session as session:
        ids = dropped(session)
        gc.collect()

        here.client.get_server_info()

        assert all_unkept(here) == ids


def test_each_handle_is_told_of_once_and_none_that_was_not_submitted(here: World) -> None:
    with here.session as session:
        kept = blob("y")
        kept.keep()
        ids = [kept.packed_id]
        session.submit()
        kept.unkeep()
        del kept
        blob("z").keep()  # the session has it until it is submitted
        gc.collect()
        here.client.housekeeper.flush()

        assert here.server.unkept == [ids, ids], "once by hand, once with the handle"


def test_a_constant_that_is_not_kept_goes_with_its_handle(here: World) -> None:
    with here.session as session:
        ids = dropped(session, keep=False)
        here.client.housekeeper.flush()
        assert all_unkept(here) == ids


def test_nothing_is_said_of_closed_sessions(here: World) -> None:
    with here.session as session:
        kept = blob("x")
        kept.keep()
        session.submit()
    del kept
    gc.collect()

    here.client.housekeeper.flush()

    assert here.server.unkept == []


def test_refusals_of_such_news_are_nobody_s_trouble(here: World) -> None:
    here.server.errors["handles_gone"] = RefusedError("unknown object")
    with here.session as session:
        dropped(session)
        gc.collect()
        here.client.housekeeper.flush()

        here.server.errors.clear()
        ids = dropped(session)
        gc.collect()
        here.client.housekeeper.flush()

        assert all_unkept(here) == ids


def test_the_server_is_told_of_tasks_and_what_is_remembered_of_them_goes(here: World) -> None:
    with here.session as session:
        task = tasks.Concat([])
        output = task.output
        session.submit()
        task.wait()
        history, ids = session._outgoing.history, [task.packed_id]  # pyright: ignore[reportPrivateUsage]
        assert history.find(task.packed_id) is not None

        del task
        gc.collect()
        here.client.housekeeper.flush()

        assert here.server.gone_tasks == ids
        assert all_unkept(here) == [], "its output has a handle"
        assert output.kept is False
        assert history.find(TaskId(ids[0])) is None


def test_a_session_without_a_client_may_drop_objects() -> None:
    with PlainSession(None, 4):
        blob("x").keep()
    gc.collect()


# Delivered results.


def delivery(*sizes: int) -> Delivery:
    return Delivery(
        [ObjectId(i) for i in range(len(sizes))],
        list(sizes),
        ["json"] * len(sizes),
        [bytes(size) for size in sizes],
    )


def test_delivered_results_are_held_up_to_a_limit() -> None:
    store = ResultStore(capacity=10)

    store.take_in(delivery(4, 5, 6))

    assert len(store) == 2
    store.drop(0)
    store.take_in(delivery(4, 5, 1))
    assert store.get(0) is not None
    assert store.get(2) is not None
    store.drop(7)
    store.clear()
    assert len(store) == 0


def test_what_is_too_large_to_be_delivered_is_not_taken_for_empty() -> None:
    store = ResultStore()

    store.take_in(Delivery([ObjectId(1)], [1000], [""], [b""]))

    assert store.get(1) is None


def test_results_go_with_their_handles(here: World) -> None:
    with here.session as session:
        obj = blob("x")
        obj.keep()
        session.submit()
        obj.wait()
        assert session.delivered_count == 1

        del obj
        gc.collect()

        assert session.delivered_count == 0
