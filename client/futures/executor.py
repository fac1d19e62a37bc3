"""An executor of `concurrent.futures` whose calls run on the cluster, for code that takes an
executor.
"""

from __future__ import annotations

import concurrent.futures
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from attrs import evolve, field, frozen

from rain.client.explaining.tracebacks import hide_frames
from rain.client.future import Future
from rain.client.futures.pool import PoolFuture, PoolState
from rain.client.guards import check_timeout
from rain.client.options import Options
from rain.common.surroundings import ForEach, Initialized

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures

P = ParamSpec("P")
T = TypeVar("T")


@frozen
class Surroundings:
    """The call that a process makes in place of a function.

    It runs an initializer first, takes many arguments at once, or both.
    """

    executor: str
    initializer: Callable[..., Any] | None = field(default=None, eq=False)
    initargs: tuple[Any, ...] = field(default=(), eq=False)
    in_chunks: bool = False

    @property
    def content_type(self) -> str:
        return "pickle"

    @property
    def changes_arguments(self) -> bool:
        return self.in_chunks

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        if self.in_chunks:
            fn = ForEach(fn)
        if self.initializer is not None:
            fn = Initialized(self.executor, self.initializer, self.initargs, fn)
        return fn


class ClusterExecutor(concurrent.futures.Executor):
    """An executor whose calls run on the cluster; `Client.executor` makes it.

    The client must live as long as its executors are used. Closing it ends their calls.

    >>> with client.executor(max_workers=2) as pool:
    ...     sum(pool.map(abs, range(-3, 0)))
    6
    """

    def __init__(
        self,
        futures: Futures,
        options: Options,
        max_workers: int | None,
        initializer: Callable[..., object] | None,
        initargs: tuple[Any, ...],
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if initializer is not None and options.cache:
            raise ValueError(
                "executor: results may depend on what the initializer prepares, so they cannot be"
                " kept: leave cache or initializer out"
            )
        key = secrets.token_hex(8)
        one_by_one = Surroundings(key, initializer, initargs)
        if initializer is not None:
            options = evolve(options, surrounding=one_by_one)
        self._in_chunks = evolve(options, surrounding=evolve(one_by_one, in_chunks=True))
        self._pool = PoolState(key, futures, options, max_workers)

    @property
    def _broken(self) -> str | bool:
        """The exception of a broken executor, as Python's own executors raise it."""
        return False if self._pool.broken is None else str(self._pool.broken)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Calls a function on the cluster, and gives the future of its result at once.

        The function and its arguments are sent as they are now. Arguments that the function does
        not take, and those that cannot be pickled, are refused at once.

        >>> with client.executor() as pool:
        ...     pool.submit(pow, 2, 3).result()
        8
        """
        return self._pool.submit(fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """The results of calling a function for each item, or tuple of items, in their order.

        All calls are submitted at once. Closing or dropping the iterator cancels the calls
        that have not started.

        >>> with client.executor() as pool:
        ...     list(pool.map(pow, [2, 3], [3, 2]))
        [8, 9]

        Args:
            fn: what is called.
            iterables: its arguments: the first ones of all, the second ones of all, and so on.
            timeout: seconds from now after which the iterator raises `TimeoutError`.
            chunksize: how many calls are made together, as one task of the cluster.
        """
        check_timeout(timeout)
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        due = None if timeout is None else _Due(timeout, time.monotonic() + timeout)
        items = zip(*iterables, strict=False)
        if chunksize == 1:
            futures = [self._pool.submit(fn, args, {}) for args in items]
            return _results(self._pool, futures, due)
        chunked = [
            self._pool.submit(fn, (chunk,), {}, self._in_chunks)
            for chunk in _chunks(items, chunksize)
        ]
        return _one_by_one(_results(self._pool, chunked, due))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the executor: `submit` raises `RuntimeError` from now on.

        >>> pool = client.executor()
        >>> future = pool.submit(pow, 2, 3)
        >>> pool.shutdown()
        >>> future.done()
        True

        Args:
            wait: return when all calls are done.
            cancel_futures: cancel the calls that have not started.
        """
        self._pool.shut()
        if cancel_futures:
            self._pool.cancel_all()
        if wait:
            self._pool.wait()


@frozen
class _Due:
    """When the results of a `map` have to be there."""

    seconds: float  # after the call
    at: float


def _chunks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def _results(
    pool: PoolState, futures: list[PoolFuture[Any]], due: _Due | None
) -> Generator[Any, None, None]:
    """In the order of the futures. Nothing here keeps what was given out."""
    futures.reverse()
    try:
        while futures:
            yield _take_last(futures, due)
    except BaseException as error:
        hide_frames(error)
        raise
    finally:
        pool.cancel(futures)


def _take_last(futures: list[PoolFuture[Any]], due: _Due | None) -> Any:
    """The last one stays among them if its result has not come."""
    future = futures[-1]
    try:
        result = future.take(None if due is None else due.at - time.monotonic())
    except TimeoutError:
        if due is None or future.is_done():  # then it is what the call has raised
            raise
        raise TimeoutError(
            f"{future!r} is not done {due.seconds:.6g} s after the call of map"
        ) from None
    futures.pop()
    return result


def _one_by_one(chunks: Generator[Any, None, None]) -> Generator[Any, None, None]:
    try:
        for chunk in chunks:
            chunk.reverse()
            while chunk:
                yield chunk.pop()
    except BaseException as error:
        hide_frames(error)
        raise
    finally:
        chunks.close()
