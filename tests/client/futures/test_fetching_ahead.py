"""`gather` fetches large results while other calls run, each once, and gives them in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future as Pending
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import Fetch, Request
from rain.client import AsyncClient
from rain.client.future import Future
from rain.client.futures import fetching_ahead
from rain.client.futures.fetching_ahead import AT_ONCE, HELD, may_begin
from rain.client.futures.waiting import gather
from rain.common.content_type import encode_value
from rain.common.errors import RainException
from tests.client.fake import FakeConnection
from tests.client.futures_server import Server, add, server
from tests.support.no_threads import no_threads
from tests.support.waiting import until_now

__all__ = ["server"]


class Holder:
    """Who has the results: what it was asked for, and when it answers."""

    def __init__(self, connection: FakeConnection) -> None:
        self.asked: list[ObjectId] = []
        self.refused: set[ObjectId] = set()
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._answer = connection.ask_all

    def ask_all(self, requests: Sequence[Request[Any]]) -> Sequence[Any]:
        for request in requests:
            assert isinstance(request, Fetch)
            self.asked.append(request.object)
            if request.object in self.refused:
                raise RefusedError("nobody has it")
        assert self.may_answer.wait(60)
        return self._answer(requests)


@pytest.fixture
def holder(server: Server, monkeypatch: pytest.MonkeyPatch) -> Generator[Holder]:
    made = Holder(server.connection)
    monkeypatch.setattr(server.connection, "ask_all", made.ask_all)
    yield made
    made.may_answer.set()
    until_now(lambda: not any(one.name.startswith("rain-fetch") for one in threading.enumerate()))


def started(server: Server, count: int) -> list[Future[int]]:
    """Calls whose results are their numbers."""
    futures = server.client.map(add, range(count))
    server.client.open_futures().sending.send()
    for number, future in enumerate(futures):
        server.connection.data[future.object_id] = encode_value(number, "pickle")
    return futures


def finish(server: Server, *futures: Future[Any]) -> None:
    """The news that they are there, with none of their bytes."""
    ids = [future.object_id for future in futures]
    _, then = server.connection.followed.pop()
    then(WaitAnswer(tasks=[TaskId(one) for one in ids], objects=ids))


@contextmanager
def gathering(
    server: Server, futures: Sequence[Future[Any]], errors: str = "raise"
) -> Generator[Pending[Any]]:
    """Another thread gathers them, and hears of each that ends."""
    home = server.client.open_futures()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gather, futures, errors=errors)
        until_now(lambda: bool(home.at_each_end) or waiting.done())
        yield waiting
    assert home.at_each_end == []


def test_only_so_many_are_on_their_way_and_so_many_bytes_are_held() -> None:
    assert may_begin(AT_ONCE - 1, HELD - 1, needed=False)
    assert not may_begin(AT_ONCE, 0, needed=False)
    assert not may_begin(0, HELD, needed=False)
    # What is loaded next, and what comes behind it, cannot wait until others are loaded.
    assert may_begin(AT_ONCE - 1, HELD, needed=True)
    assert not may_begin(AT_ONCE, HELD, needed=True)


def test_results_are_fetched_while_other_calls_run(server: Server, holder: Holder) -> None:
    futures = started(server, 4)
    finish(server, futures[2])  # before anybody waits
    with gathering(server, futures) as waiting:
        finish(server, futures[0], futures[3])
        until_now(lambda: len(holder.asked) == 3)
        assert not waiting.done()
        finish(server, futures[1])
        assert waiting.result(60) == [0, 1, 2, 3]

    assert sorted(holder.asked) == sorted(future.object_id for future in futures)


def test_several_are_on_their_way_at_once_and_no_more_than_that(
    server: Server, holder: Holder
) -> None:
    futures = started(server, 2 * AT_ONCE)
    holder.may_answer.clear()
    finish(server, *futures)
    with gathering(server, futures) as waiting:
        until_now(lambda: len(holder.asked) == AT_ONCE)
        assert len(holder.asked) == AT_ONCE  # the next begins when one of these has come
        holder.may_answer.set()
        assert waiting.result(60) == list(range(2 * AT_ONCE))

    assert len(holder.asked) == 2 * AT_ONCE


def test_results_that_came_with_the_news_are_not_asked_for(server: Server, holder: Holder) -> None:
    futures = started(server, 3)
    with gathering(server, futures) as waiting:
        server.news([(future.object_id, 7) for future in futures])
        assert waiting.result(60) == [7, 7, 7]

    assert holder.asked == []


def test_futures_that_are_not_gathered_are_left_where_they_are(
    server: Server, holder: Holder
) -> None:
    futures = started(server, 3)
    with gathering(server, futures[:1]) as waiting:
        finish(server, futures[1])
        finish(server, futures[0])
        assert waiting.result(60) == [0]

    assert holder.asked == [futures[0].object_id]


def test_when_much_is_held_the_rest_comes_when_it_is_needed_and_each_comes_once(
    server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching_ahead, "HELD", 1)
    monkeypatch.setattr(fetching_ahead, "AT_ONCE", 1)
    futures = started(server, 9)
    with gathering(server, [*futures, futures[0]]) as waiting:
        finish(server, *reversed(futures[1:]))
        until_now(lambda: len(holder.asked) == 1)
        finish(server, futures[0])
        assert waiting.result(60) == [*range(9), 0]

    assert len(holder.asked) == 9


def test_a_result_that_cannot_be_fetched_fails_in_its_place(server: Server, holder: Holder) -> None:
    futures = started(server, 3)
    holder.refused.add(futures[1].object_id)
    finish(server, *futures)

    first, failure, last = gather(futures, errors="return")

    assert (first, last) == (0, 2)
    assert isinstance(failure, RainException)
    assert str(failure) == "nobody has it"


def test_a_failure_does_not_wait_for_results_that_are_on_their_way(
    server: Server, holder: Holder
) -> None:
    futures = started(server, 3)
    holder.may_answer.clear()
    with gathering(server, futures) as waiting:
        finish(server, futures[0])
        until_now(lambda: len(holder.asked) == 1)
        futures[1].note_failed(ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            waiting.result(60)
    assert not holder.may_answer.is_set()


def test_a_timeout_reads_no_result(server: Server, holder: Holder) -> None:
    futures = started(server, 2)
    holder.may_answer.clear()
    finish(server, futures[0])
    with pytest.raises(TimeoutError, match="1 of 2 futures are not done after 0 s"):
        gather(futures, timeout=0)
    assert not holder.may_answer.is_set()


def test_without_threads_each_is_fetched_in_its_turn(server: Server, holder: Holder) -> None:
    futures = started(server, 3)
    with no_threads():
        finish(server, *futures)
        assert gather(futures) == [0, 1, 2]

    assert holder.asked == [future.object_id for future in futures]


def test_a_loop_fetches_results_while_other_calls_run(
    server: Server, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = AsyncClient()
    monkeypatch.setattr(client, "_client", server.client)
    futures = started(server, 3)

    async def program() -> list[int]:
        gathering = asyncio.ensure_future(client.gather(futures))
        finish(server, futures[2])
        await asyncio.to_thread(until_now, lambda: len(holder.asked) == 1)
        assert not gathering.done()
        finish(server, futures[0], futures[1])
        gathered: list[int] = await gathering
        return gathered

    assert asyncio.run(program()) == [0, 1, 2]
    assert sorted(holder.asked) == sorted(future.object_id for future in futures)
