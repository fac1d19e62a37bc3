"""Loops over futures: what comes next is fetched ahead, each once, and nothing nobody asks for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import WaitAnswer
from rain.client import AsyncClient, as_completed
from rain.client.data import DataObject
from rain.client.future import Future
from rain.client.futures import fetching_ahead, loops
from rain.client.futures.loops import (
    AT_ONCE,
    FEW,
    HELD,
    NEAR,
    Progress,
    how_many,
    places_ahead,
    went_on,
)
from rain.client.futures.waiting import gather
from rain.common.content_type import encode_value
from rain.common.data_instance import DataInstance
from rain.common.errors import RainException
from tests.client.futures.test_fetching_ahead import Holder, finish, holder, started
from tests.client.futures_server import Server, add, server
from tests.support.no_threads import no_threads
from tests.support.waiting import until_now

__all__ = ["holder", "server"]

FIRST = ObjectId(1000)


def done(server: Server, count: int) -> list[Future[int]]:
    """Calls that are done, whose results are their numbers, and have not come with the news."""
    futures = started(server, count)
    finish(server, *futures)
    return futures


def numbers_of(futures: Iterable[Future[int]]) -> list[int]:
    """What a plain loop reads."""
    return [future.result() for future in futures]


def ids_of(futures: Iterable[Future[Any]]) -> list[ObjectId]:
    return [future.object_id for future in futures]


# What is fetched ahead.


def test_one_result_is_no_loop() -> None:
    assert how_many(went_on(None, FIRST), 0, 0) == 0


def test_as_many_as_were_read_may_be_ahead_up_to_a_number_and_to_some_bytes() -> None:
    assert how_many(Progress(FIRST, reads=FEW, largest=1), 0, 0) == FEW
    long = Progress(FIRST, reads=1000, largest=1)
    assert how_many(long, 0, 0) == AT_ONCE
    assert how_many(long, AT_ONCE - 1, 0) == 1
    assert how_many(long, AT_ONCE, 0) == 0
    large = Progress(FIRST, reads=1000, largest=HELD // 4)
    assert how_many(large, 0, 0) == 4
    assert how_many(large, 1, HELD // 4) == 3
    assert how_many(large, 1, HELD + 1) == 0
    assert how_many(Progress(FIRST, reads=1000, largest=HELD + 1), 0, 0) == 0


def test_a_loop_goes_on_forward_and_backward_and_one_far_away_is_another() -> None:
    loop = went_on(went_on(None, FIRST), ObjectId(FIRST + NEAR))
    assert (loop.reads, loop.step) == (2, 1)
    assert next(places_ahead(loop)) == FIRST + NEAR + 1
    back = went_on(loop, ObjectId(FIRST + NEAR - 1))
    assert (back.reads, back.step) == (3, -1)
    assert next(places_ahead(back)) == FIRST + NEAR - 2
    assert went_on(back, ObjectId(FIRST + 2 * NEAR)) == Progress(ObjectId(FIRST + 2 * NEAR))


@given(st.lists(st.integers(1, NEAR), max_size=200), st.data())
def test_no_more_is_fetched_in_vain_than_was_read(steps: list[int], data: st.DataObject) -> None:
    progress = went_on(None, FIRST)
    in_vain = 0
    for step in steps:
        progress = went_on(progress, ObjectId(progress.last + step))
        begun = how_many(progress, 0, 0)  # all that was fetched is dropped each time, unread
        in_vain += begun
        progress = Progress(progress.last, 1, progress.reads, progress.unread + begun)
        assert in_vain <= progress.reads


# What a program moves.


def test_reading_one_result_of_many_asks_for_that_one(server: Server, holder: Holder) -> None:
    futures = done(server, 1000)

    assert futures[500].result() == 500

    assert holder.asked == [futures[500].object_id]


def test_results_that_are_only_looked_for_or_passed_on_stay_where_they_are(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 100)

    assert all(future.done() for future in futures)
    assert [future.status for future in as_completed(futures)] == ["finished"] * 100
    server.client.map(add, futures)
    server.client.wait(futures)

    assert holder.asked == []


def test_in_a_loop_the_next_ones_are_on_their_way_while_one_is_read(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 100)
    assert futures[0].result() == 0
    assert len(holder.asked) == 1
    holder.may_answer.clear()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(numbers_of, futures[1:])
        until_now(lambda: len(holder.asked) == 4)
        assert sorted(holder.asked) == ids_of(futures[:4])
        holder.may_answer.set()
        assert reading.result(60) == list(range(1, 100))

    assert sorted(holder.asked) == ids_of(futures)  # each once


def test_a_loop_that_goes_on_has_more_and_more_on_the_way_but_no_more_than_that(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 4 * AT_ONCE)
    assert numbers_of(futures[:100]) == list(range(100))
    until_now(lambda: len(holder.asked) == min(100 + AT_ONCE - 1, len(futures)))

    assert sorted(holder.asked) == ids_of(futures[: len(holder.asked)])


def test_a_loop_that_ends_has_asked_for_at_most_twice_what_it_has_read(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 100)

    assert numbers_of(futures[:5]) == [0, 1, 2, 3, 4]

    until_now(lambda: len(holder.asked) == 9)
    assert len(holder.asked) <= 2 * 5


def test_a_loop_that_reads_few_of_them_asks_for_at_most_twice_what_it_reads(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 1000)

    numbers_of(futures[::20])

    assert len(holder.asked) <= 2 * 50


def in_order(futures: list[Future[int]]) -> Iterable[Future[int]]:
    return futures


def backward(futures: list[Future[int]]) -> Iterable[Future[int]]:
    return futures[::-1]


def completed_backward(futures: list[Future[int]]) -> Iterable[Future[int]]:
    return as_completed(futures[::-1])


@pytest.mark.parametrize("walk", [in_order, backward, as_completed, completed_backward])
def test_several_results_come_at_once_in_each_kind_of_loop(
    server: Server, holder: Holder, walk: Callable[[list[Future[int]]], Iterable[Future[int]]]
) -> None:
    futures = done(server, 100)
    looping = iter(walk(futures))
    read = [next(looping).result() for _ in range(10)]
    until_now(lambda: len(holder.asked) == 10 + 9)
    read += numbers_of(looping)

    assert sorted(read) == list(range(100))
    assert sorted(holder.asked) == ids_of(futures)


def test_two_lists_that_are_read_side_by_side_are_two_loops(server: Server, holder: Holder) -> None:
    ones = done(server, 20)
    others = server.client.options(name="other").submit
    named = [others(add, number) for number in range(20)]
    server.client.open_futures().sending.send()
    for number, future in enumerate(named):
        server.connection.data[future.object_id] = encode_value(-number, "pickle")
    finish(server, *named)

    for one, other in zip(ones[:5], named[:5], strict=True):
        assert one.result() == -other.result()

    until_now(lambda: len(holder.asked) == 2 * 9)
    assert sorted(holder.asked) == ids_of([*ones[:9], *named[:9]])


def test_an_executor_map_is_a_loop(server: Server, holder: Holder) -> None:
    with server.client.executor() as pool:
        results = pool.map(add, range(40))
        server.client.open_futures().sending.send()
        outputs = server.outputs()
        for number, object_id in enumerate(outputs):
            server.connection.data[object_id] = encode_value(number, "pickle")
        _, then = server.connection.followed.pop()
        then(WaitAnswer(tasks=[TaskId(one) for one in outputs], objects=outputs))
        assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
        until_now(lambda: len(holder.asked) == 9)
        assert list(results) == list(range(5, 40))

    assert sorted(holder.asked) == outputs


def test_an_asynchronous_loop_is_one(
    server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = AsyncClient()
    monkeypatch.setattr(client, "_client", server.client)
    futures = done(server, 40)

    async def program() -> list[int]:
        read: list[int] = []
        async for future in client.as_completed(futures):
            read.append(await future)
            if len(read) == 5:
                await asyncio.to_thread(until_now, lambda: len(holder.asked) == 9)
        return read

    assert asyncio.run(program()) == list(range(40))
    assert sorted(holder.asked) == ids_of(futures)


# What is left alone.


def test_calls_that_run_have_failed_or_were_cancelled_are_left_alone(
    server: Server, holder: Holder
) -> None:
    futures = started(server, 8)
    futures[2].cancel()
    futures[3].note_failed(ValueError("no"))
    finish(server, futures[0], futures[1], futures[5])

    assert numbers_of(futures[:2]) == [0, 1]

    until_now(lambda: len(holder.asked) == 3)
    assert sorted(holder.asked) == ids_of([futures[0], futures[1], futures[5]])


def test_calls_of_another_name_are_left_alone(server: Server, holder: Holder) -> None:
    futures = done(server, 4)
    other = server.client.options(name="other").submit(add, 1)
    server.client.open_futures().sending.send()
    finish(server, other)

    assert numbers_of(futures) == [0, 1, 2, 3]

    assert other.object_id not in holder.asked


def test_futures_that_nobody_has_any_more_are_left_alone(server: Server, holder: Holder) -> None:
    futures = done(server, 20)
    kept = [*futures[:4], futures[10]]
    kept_ids = ids_of(kept)
    futures.clear()

    assert numbers_of(kept[:4]) == [0, 1, 2, 3]

    until_now(lambda: len(holder.asked) == 5)
    assert sorted(holder.asked) == kept_ids


def test_what_was_fetched_goes_with_its_future(
    server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = server.client.open_futures()
    fetch_all = home.session.fetch_all
    fetched: list[ref[DataInstance]] = []

    def watched(handles: Sequence[DataObject]) -> Sequence[DataInstance]:
        found = fetch_all(handles)
        fetched.extend(map(ref, found))
        return found

    monkeypatch.setattr(home.session, "fetch_all", watched)
    futures = done(server, 4)
    assert numbers_of(futures[:2]) == [0, 1]
    until_now(lambda: futures[2].is_here and futures[3].is_here)

    del futures[3]

    until_now(lambda: sum(data() is not None for data in fetched) == 1)
    assert futures[2].is_here


def test_what_a_loop_has_left_behind_goes_with_the_next_loop(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 4 * NEAR)
    numbers_of(futures[:5])
    until_now(lambda: all(future.is_here for future in futures[:9]))

    assert futures[-1].result() == 4 * NEAR - 1

    assert not futures[8].is_here


def test_large_results_are_read_one_by_one(
    server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "HELD", 1)
    futures = done(server, 9)

    assert numbers_of(futures[:5]) == [0, 1, 2, 3, 4]

    assert holder.asked == ids_of(futures[:5])


def test_a_gather_is_no_loop(
    server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching_ahead, "HELD", 1)
    monkeypatch.setattr(fetching_ahead, "AT_ONCE", 1)
    futures = done(server, 40)

    assert gather(futures[:20]) == list(range(20))

    assert sorted(holder.asked) == ids_of(futures[:20])


# Failures.


def test_a_result_that_cannot_be_fetched_fails_when_it_is_read(
    server: Server, holder: Holder
) -> None:
    futures = done(server, 4)
    holder.refused.add(futures[3].object_id)

    assert numbers_of(futures[:3]) == [0, 1, 2]
    with pytest.raises(RainException, match="nobody has it"):
        futures[3].result()


def test_without_threads_each_is_fetched_when_it_is_read(server: Server, holder: Holder) -> None:
    futures = done(server, 9)
    with no_threads():
        assert numbers_of(futures) == list(range(9))

    assert holder.asked == ids_of(futures)


def test_a_client_that_closes_leaves_no_threads(server: Server, holder: Holder) -> None:
    futures = done(server, 9)
    numbers_of(futures[:5])
    assert any(one.name.startswith("rain-read-ahead") for one in threading.enumerate())

    server.client.close()

    until_now(
        lambda: not any(one.name.startswith("rain-read-ahead") for one in threading.enumerate())
    )
