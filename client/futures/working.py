"""Waits for several futures of a cluster in this process; the waiting thread runs the calls.

Futures of other clusters may be among them. When one of those is done, the thread looks again.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Generator, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from rain.common.running import waiting_for_tasks

if TYPE_CHECKING:
    from rain.client.connection import Here
    from rain.client.future import Future
    from rain.client.futures.futures import Futures

FutureSet = set[concurrent.futures.Future[Any]]


class Working:
    """The part of a wait in which calls are run."""

    def __init__(
        self, futures: Sequence[Future[Any]], homes: Iterable[Futures], timeout: float | None
    ) -> None:
        self._homes = [home for home in homes if home.here is not None]
        self._heres: list[Here] = [home.here for home in self._homes if home.here is not None]
        self._due = None if timeout is None else monotonic() + timeout
        self._pending = dict.fromkeys(reversed(futures))  # the last one is the first to be run
        if any(future.home is not self._homes[0] for future in futures):
            for future in futures:
                future.when_done(self._ring)

    def one_by_one(self) -> Generator[Future[Any], None, None]:
        """The futures as they get done; `TimeoutError` after the timeout."""
        while self._pending:
            with waiting_for_tasks():
                self._until(lambda: self._next() is not None)
            future = self._next()
            if future is None:
                raise TimeoutError(f"{len(self._pending)} futures are not done in time")
            del self._pending[future]
            yield future

    def _next(self) -> Future[Any] | None:
        return next(filter(_is_done, reversed(self._pending)), None)

    def until_all(self, *, stop_at_failure: bool) -> tuple[FutureSet, FutureSet]:
        """Until all are done, one has failed, or the time is over; those that are, and others."""
        left = dict(self._pending)

        def is_over() -> bool:
            while left:
                future = next(reversed(left))
                if not future.is_done():
                    return False
                del left[future]
                if stop_at_failure and (future.cancelled() or future.failure is not None):
                    return True
            return True

        self._until(is_over)
        done: FutureSet = {future for future in self._pending if future.is_done()}
        others: FutureSet = {future for future in self._pending if future not in done}
        return done, others

    def _left(self) -> float | None:
        return None if self._due is None else max(self._due - monotonic(), 0.0)

    def _until(self, is_over: Callable[[], bool]) -> None:
        for home in self._homes:
            home.work_until(is_over, self._left())

    def _ring(self, _: concurrent.futures.Future[Any]) -> None:
        for here in self._heres:
            here.ring()


def _is_done(future: Future[Any]) -> bool:
    return future.is_done()
