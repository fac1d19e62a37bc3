"""What an executor asks of the server, and when; the server is a list (see tests.client.fake)."""

import concurrent.futures
import gc
import pickle
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import evolve

from rain.base.errors import ConnectionLostError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.client import CancelledError, Future, RainException, remote, task
from rain.client.futures.executor import ClusterExecutor
from rain.common.surroundings import InitializerError
from tests.client.fake import World, world


@contextmanager
def executor(
    max_workers: int | None = None, initializer: Callable[[], object] | None = None
) -> Generator[tuple[World, ClusterExecutor]]:
    """At its end whatever was not done has failed, as when a connection is lost."""
    with world() as w:
        pool = w.client.executor(max_workers, initializer)
        yield w, pool
        lost = ConnectionLostError("the test is over")
        for _ in range(100):
            for _, then in [*w.server.followed, *w.server.answers]:
                then(lost)


def sent(w: World) -> list[ObjectId]:
    """The results of all calls that were sent."""
    return [output for one in w.server.submissions for output in one.tasks.outputs]


def send(pool: ClusterExecutor) -> None:
    """What is pending leaves now, without the thread that would send it soon."""
    pool._pool._futures.sending.send()  # pyright: ignore[reportPrivateUsage] # nothing else sends at once


def finish(w: World, *futures: Future[Any], value: object = None) -> None:
    """The server says that these are finished."""
    data = pickle.dumps(value)
    delivery = Delivery()
    for future in futures:
        delivery.ids.append(future.handle.packed_id)
        delivery.sizes.append(len(data))
        delivery.content_types.append("pickle")
        delivery.data.append(data)
    _, then = w.server.followed[-1]
    then(WaitAnswer([], [future.handle.packed_id for future in futures], delivery))


def fail(w: World, future: Future[Any], failure: SessionFailure) -> None:
    """The server says that this has failed, and why."""
    object_id = future.handle.packed_id
    w.server.followed[-1][1](WaitAnswer([], [object_id], Delivery(), [object_id]))
    asked, why = w.server.asked_why[-1]
    assert asked == object_id
    assert future.task is not None
    why(SessionFailedError(evolve(failure, task=future.task.packed_id)))


def test_no_more_calls_than_the_limit_are_sent_and_not_done() -> None:
    with executor(max_workers=2) as (w, pool):
        futures = [pool.submit(pow, 2, number) for number in range(5)]
        send(pool)
        assert sent(w) == [future.handle.packed_id for future in futures[:2]]
        assert [future.running() for future in futures] == [True, True, False, False, False]
        finish(w, futures[1])
        send(pool)
        assert sent(w) == [future.handle.packed_id for future in futures[:3]]


def test_with_a_limit_what_was_sent_counts_as_started() -> None:
    with executor(max_workers=1) as (w, pool):
        first, second = pool.submit(int), pool.submit(int)
        assert not first.cancel()
        assert second.cancel()
        send(pool)
        assert sent(w) == [first.handle.packed_id]
        assert w.server.asked_unstarted == []


def test_without_a_limit_the_server_says_what_has_started() -> None:
    with executor() as (w, pool):
        first, second = pool.submit(int), pool.submit(int)
        w.server.running.add(first.handle.packed_id)
        pool.shutdown(wait=False, cancel_futures=True)
        assert len(w.server.asked_unstarted) == 1
        assert not first.done()
        assert second.cancelled()
        assert not first.cancel()
        assert second.cancel()


def test_the_news_of_a_cancelled_call_may_come_before_the_answer() -> None:
    with executor() as (w, pool):
        future = pool.submit(int)
        send(pool)
        fail(w, future, SessionFailure("it was cancelled", cancelled=True))
        assert future.cancelled()
        assert future.cancel()
        with pytest.raises(concurrent.futures.CancelledError):
            future.result()


def test_what_waits_for_its_turn_is_sent_when_another_call_needs_it() -> None:
    with executor(max_workers=1) as (w, pool):
        pool.submit(int)
        held = pool.submit(int)
        needs = w.client.submit(pow, held, 2)
        send(pool)
        assert {held.handle.packed_id, needs.handle.packed_id} < set(sent(w))


@pytest.mark.parametrize("cancel", [True, False])
def test_nothing_is_submitted_after_the_end(cancel: bool) -> None:
    with executor() as (_, pool):
        pool.shutdown(cancel_futures=cancel)
        pool.shutdown()
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            pool.submit(int)


@pytest.mark.parametrize("number", [0, -1])
def test_numbers_that_make_no_sense_are_refused(number: int) -> None:
    with world() as w:
        with pytest.raises(ValueError, match="max_workers must be greater than 0"):
            w.client.executor(number)
        with pytest.raises(ValueError, match="chunksize"):
            w.client.executor().map(int, [], chunksize=number)
        initializer: Any = number
        with pytest.raises(TypeError, match="initializer"):
            w.client.executor(initializer=initializer)


def test_an_executor_that_nobody_has_any_more_lets_its_calls_run() -> None:
    with executor() as (w, other):
        pool = w.client.executor(1)
        alive = weakref.ref(pool)
        pool.submit(int)
        last = pool.submit(int)
        send(other)
        first = w.server.submissions[-1].tasks.outputs[-1]
        del pool
        gc.collect()
        assert alive() is None
        w.server.followed[-1][1](WaitAnswer([], [first], Delivery()))
        send(other)
        assert sent(w) == [first, last.handle.packed_id]


def test_a_call_of_a_future_that_nobody_has_is_waited_for() -> None:
    with executor() as (w, pool):
        pool.submit(int)
        send(pool)
        waiting = threading.Thread(target=pool.shutdown)
        waiting.start()
        (object_id,) = sent(w)
        assert waiting.is_alive()
        w.server.followed[-1][1](WaitAnswer([], [object_id], Delivery()))
        waiting.join(60)
        assert not waiting.is_alive()


def test_chunks_are_one_call_each() -> None:
    with executor() as (w, pool):
        pool.map(pow, range(5), range(5), chunksize=2)
        send(pool)
        assert len(sent(w)) == 3
        told = [label for one in w.server.submissions for label in one.constants.ids]
        assert len(told) == 1


def test_closing_an_iterator_cancels_the_rest() -> None:
    with executor(max_workers=1) as (w, pool):
        results: Any = pool.map(pow, range(3), range(3))
        send(pool)
        (first,) = sent(w)
        data = pickle.dumps(1)
        delivery = Delivery([first], [len(data)], ["pickle"], [data])
        w.server.followed[-1][1](WaitAnswer([], [first], delivery))
        assert next(results) == 1
        results.close()
        send(pool)
        assert len(sent(w)) == 2  # the second one was sent when the first was done


def test_a_map_says_what_was_not_done_in_time_and_what_the_time_was() -> None:
    with executor() as (_, pool):
        results = pool.map(pow, [2], [3], timeout=0)
        with pytest.raises(TimeoutError, match="'pow' pending> is not done 0 s after the call of"):
            next(results)


def test_a_failing_initializer_ends_all_calls_and_the_executor(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with executor(initializer=print) as (w, pool):
        futures = [pool.submit(int) for _ in range(3)]
        key = pool._pool._key  # pyright: ignore[reportPrivateUsage] # chance has made it
        send(pool)
        error = pickle.dumps(InitializerError(key, "ValueError: no"))
        fail(w, futures[0], SessionFailure("it failed", exception=error))
        for future in futures:
            with pytest.raises(concurrent.futures.BrokenExecutor, match="ValueError: no"):
                future.result(60)
        with pytest.raises(concurrent.futures.BrokenExecutor):
            pool.submit(int)
        assert "ValueError: no" in caplog.text


def test_the_failed_initializer_of_another_executor_is_an_error_as_any_other() -> None:
    with executor() as (w, pool):
        future, other = pool.submit(int), pool.submit(int)
        send(pool)
        error = pickle.dumps(InitializerError("another", "no"))
        fail(w, future, SessionFailure("it failed", exception=error))
        assert isinstance(future.exception(), InitializerError)
        assert not other.done()
        assert not pool.submit(int).done()


def test_a_remote_function_has_no_initializer() -> None:
    @remote()
    def with_context(ctx: Any) -> bytes:
        return b""

    with executor(initializer=print) as (_, pool), pytest.raises(TypeError, match="context"):
        pool.submit(with_context, None)


def test_a_function_with_options_keeps_them_beside_an_initializer() -> None:
    @task(tries=7)
    def tried(x: int) -> int:
        return x

    with executor(initializer=print) as (w, pool):
        pool.submit(tried, 1)
        send(pool)
        kinds = [kind for one in w.server.submissions for kind in one.task_kinds]
        assert [kind.attempts.tries for kind in kinds] == [7]


def test_a_cancelled_call_of_another_kind_is_no_result_either() -> None:
    """With a limit a call that was sent counts as running, but what it needs may be cancelled."""
    with executor(max_workers=1) as (w, pool):
        future = pool.submit(int)
        send(pool)
        fail(w, future, SessionFailure("it was cancelled", cancelled=True))
        assert future.done()
        with pytest.raises(CancelledError):
            future.result()


def test_a_result_that_cannot_be_read_is_the_exception_of_its_call() -> None:
    with executor() as (w, pool):
        future = pool.submit(int)
        send(pool)
        object_id = future.handle.packed_id
        delivery = Delivery([object_id], [3], ["pickle"], [b"bad"])
        called = threading.Event()
        future.add_done_callback(lambda _: called.set())
        w.server.followed[-1][1](WaitAnswer([], [object_id], delivery))
        assert called.wait(60)
        assert isinstance(future.exception(), pickle.UnpicklingError | RainException)
