"""`wait` for some futures gives as many as were asked for, and looks at few of the others.

`gather` takes whatever holds futures, and nothing else.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rain.client.future import Future
from rain.client.futures.waiting import as_completed, gather, wait
from tests.client.futures_server import Server, add, server

__all__ = ["server"]


def started(server: Server, count: int) -> list[Future[int]]:
    futures = server.client.map(add, range(count))
    server.client.open_futures().sending.send()
    return futures


def finish(server: Server, *futures: Future[Any]) -> None:
    server.news([(future.object_id, 7) for future in futures])


def test_no_more_are_given_than_were_asked_for_and_the_order_is_kept(server: Server) -> None:
    futures = started(server, 6)
    finish(server, *(futures[at] for at in (4, 1, 3)))

    assert wait(futures, 2) == ([futures[1], futures[3]], [futures[at] for at in (0, 2, 4, 5)])
    assert wait(futures, 0) == ([], futures)
    assert wait(futures, 4, timeout=0) == (
        [futures[at] for at in (1, 3, 4)],
        [futures[at] for at in (0, 2, 5)],
    )
    with pytest.raises(ValueError, match="num_returns is 7, and there are 6 futures"):
        wait(futures, 7)


def test_a_timeout_that_is_no_number_is_refused_before_anything_is_waited_for(
    server: Server,
) -> None:
    futures: Any = started(server, 2)
    (first, _), soon = futures, "2s"
    waits: list[Callable[[Any], object]] = [
        first.result,
        first.exception,
        lambda timeout: wait(futures, timeout=timeout),
        lambda timeout: gather(futures, timeout=timeout),
        lambda timeout: as_completed(futures, timeout),
        lambda timeout: server.client.get(futures, timeout),
        lambda timeout: server.client.executor().map(abs, [1], timeout=timeout),
    ]
    for wait_with in waits:
        with pytest.raises(TypeError, match="timeout is '2s'; it must be a number of seconds"):
            wait_with(soon)


def test_what_is_no_future_of_a_client_is_named(server: Server) -> None:
    futures: list[Any] = started(server, 1)
    other: Any = concurrent.futures.Future()
    cases: list[tuple[Any, str]] = [
        ([*futures, 3], "wait takes futures in one list, and not 'int'"),
        ([futures], "wait takes futures in one list, and not 'list'"),
        ([other], "is one of another executor: write concurrent.futures.wait, which takes both"),
    ]
    for given, told in cases:
        with pytest.raises(TypeError, match=told):
            wait(given)
        with pytest.raises(TypeError, match=told.replace("wait", "as_completed")):
            as_completed(given)
    with pytest.raises(TypeError, match="as_completed takes futures in one list, and not 'int'"):
        as_completed(futures).add(3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # as users do


def test_a_loop_that_takes_one_by_one_looks_only_at_the_first_ones(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = started(server, 500)
    finish(server, *rest)
    looked = [0]

    def ended(_: Future[Any]) -> bool:
        looked[0] += 1
        return True

    monkeypatch.setattr(Future, "has_ended", property(ended))
    while rest:
        (_,), rest = wait(rest, 1)

    assert looked[0] == 500


def cancel(_: Server, future: Future[Any]) -> None:
    future.cancel()


def fail(_: Server, future: Future[Any]) -> None:
    future.note_failed(ValueError("no"))


@pytest.mark.parametrize("end", [finish, cancel, fail])
def test_a_wait_ends_whatever_has_become_of_the_one_that_it_needs(
    server: Server, end: Callable[[Server, Future[Any]], object]
) -> None:
    futures = started(server, 3)
    home = server.client.open_futures()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, futures, 1)
        while not home.at_each_end:  # it listens now
            assert not waiting.done()
        end(server, futures[2])
        done, others = waiting.result(60)

    assert (done, others) == ([futures[2]], futures[:2])
    assert home.at_each_end == []


def test_two_threads_may_wait_for_the_same_futures(server: Server) -> None:
    futures = started(server, 2)
    home = server.client.open_futures()
    found: list[tuple[list[Future[int]], list[Future[int]]]] = []
    threads = [
        threading.Thread(target=lambda: found.append(wait(futures, 1)), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    while len(home.at_each_end) < len(threads):
        pass
    finish(server, futures[0])
    for thread in threads:
        thread.join(60)

    assert found == [([futures[0]], [futures[1]])] * 2


def test_one_future_that_is_given_twice_counts_twice(server: Server) -> None:
    (future,) = started(server, 1)
    home = server.client.open_futures()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, [future, future])
        while not home.at_each_end:
            assert not waiting.done()
        finish(server, future)
        assert waiting.result(60) == ([future, future], [])

    assert wait([future, future]) == ([future, future], [])
    (open_one,) = started(server, 1)
    assert wait([future, open_one, open_one], timeout=0) == ([future], [open_one, open_one])


def test_a_single_future_is_waited_for(server: Server) -> None:
    (future,) = started(server, 1)
    assert wait(future, timeout=0) == ([], [future])
    finish(server, future)

    assert wait(future) == ([future], [])


def test_futures_of_an_iterator_or_another_collection_are_gathered_as_a_list(
    server: Server,
) -> None:
    futures = started(server, 2)
    finish(server, *futures)

    assert gather(iter(futures)) == [7, 7]
    assert gather(dict(enumerate(futures)).values()) == [7, 7]
    assert gather(deque(futures)) == [7, 7]
    assert gather(iter([])) == []


@pytest.mark.parametrize(
    ("given", "name"), [(5, "int"), ("text", "str"), (iter([1]), "list_iterator")]
)
def test_what_holds_no_futures_is_not_gathered(given: object, name: str) -> None:
    with pytest.raises(TypeError, match=f"gather takes futures, .*, and not '{name}'"):
        gather(given)
