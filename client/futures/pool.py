"""The calls of one executor that are not done: those that were sent, and those that wait here.

An executor without a limit sends all calls at once, and the server says which have started. With a
limit, calls wait here for their turn; one that was sent counts as started.

A pool lives until all of its calls are done, even if the program has dropped it.
At exit the program waits for it.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rain.base.errors import RainError
from rain.client.errors import CancelledError
from rain.client.future import Future
from rain.client.in_loops import expect_no_wait_of_asyncio
from rain.client.options import Options
from rain.common.errors import RainException
from rain.common.surroundings import InitializerError

if TYPE_CHECKING:
    from rain.client.data import DataObject
    from rain.client.futures.futures import Futures
    from rain.client.task import Task

T = TypeVar("T")

_log = logging.getLogger("concurrent.futures")
"""The logger of Python's own executors, which failed initializers are written to."""


class PoolFuture(Future[T]):
    """The future of a call of an executor, in all respects as those of `concurrent.futures`.

    `cancel` does not touch a running call. A done-callback finds the result in this process, so
    that an event loop never waits for the cluster.
    """

    def __init__(self, pool: PoolState, home: Futures, handle: DataObject, task: Task) -> None:
        super().__init__(home, handle, task)
        self._pool = pool

    def cancel(self, *, recursive: bool = True, grace: float | None = None) -> bool:
        """Cancels the call if it has not started; False when it runs or is done."""
        if not recursive or grace is not None:
            raise RainException(
                "a future of an executor cancels only calls that have not started, so `recursive`"
                " and `grace` mean nothing here; use client.submit"
            )
        if not self.is_done():
            self._pool.cancel([self])
        return self.cancelled()

    def running(self) -> bool:
        """Whether the call has started and is not done; may ask the server."""
        return super().running() or (not self.is_done() and self._pool.runs(self))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits until the call is done, and gives what `result` would raise, or None."""
        error = super().exception(timeout)
        if error is None:
            try:
                self.result()
            # A result that cannot be read here may raise anything.
            except Exception as unreadable:  # noqa: BLE001
                return unreadable
        return error

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Calls a function with this future when it is done and its result is here."""
        expect_no_wait_of_asyncio(fn)
        if self.is_done() and not self.is_here:
            self.home.callbacks.put(partial(_call_with_result, fn), self)
        else:
            super().add_done_callback(partial(_call_with_result, fn))

    def take(self, timeout: float | None) -> T:
        """The result, which is not kept here."""
        result = self.result(timeout)
        self.forget()
        return result

    def input(self) -> DataObject:
        """The object that stands for its result; the call must be sent before any that needs it."""
        self._pool.release(self)
        return self.handle

    def note_cancelled(self, reason: CancelledError | None = None) -> bool:
        """The call is cancelled; returns False if its result was made or is being made."""
        with self._pool.lock:
            return super().note_cancelled(reason)

    def _note(self, end: Callable[[], None]) -> None:
        with suppress(concurrent.futures.InvalidStateError):  # it was given up meanwhile
            super()._note(end)


def _call_with_result(fn: Callable[[Any], object], future: PoolFuture[Any]) -> None:
    if not future.cancelled():
        future.exception()
    fn(future)


class PoolState:
    """The state of an executor that its threads and that of the connection share."""

    def __init__(self, key: str, futures: Futures, options: Options, limit: int | None) -> None:
        self.broken: InitializerError | None = None
        self._key = key
        self._futures = futures
        self._options = options
        self._limit = limit
        self._is_shut = False
        self._process = os.getpid()
        # Never held while anything is sent: the thread of the connection takes it, too.
        self.lock = threading.RLock()
        self._waiting: dict[PoolFuture[Any], None] = {}
        self._sent: dict[PoolFuture[Any], None] = {}
        _wait_at_exit()

    def submit(
        self,
        fn: Callable[..., T],
        args: Sequence[Any],
        keywords: Mapping[str, Any],
        options: Options | None = None,
    ) -> PoolFuture[T]:
        """A new call; RuntimeError after the end of the executor."""
        self._check_usable()
        call = self._futures.new_call(fn, args, keywords, options or self._options)
        future: PoolFuture[T] = PoolFuture(self, self._futures, *call)
        future.when_done(self._done)
        with self.lock:
            self._check_usable()
            _at_work.add(self)
            self._waiting[future] = None
            try:
                self._start_next()
            except RainException:  # the session is closed
                self._leave(future)
                raise
        self._futures.sending.send_many()
        return future

    def cancel(self, futures: Iterable[PoolFuture[Any]]) -> None:
        """Cancels those of these that have not started."""
        with self.lock:
            chosen = list(futures)
            for future in chosen:
                if future in self._waiting:
                    future.note_cancelled()
            sent = [] if self._limit else [one for one in chosen if one in self._sent]
        if not sent:
            return
        with suppress(RainError):  # the connection is lost, and they fail with that
            cancelled = self._futures.cancel_unstarted(sent)
            for future in sent:
                if future.handle.packed_id in cancelled:
                    future.note_cancelled()

    def release(self, future: PoolFuture[Any]) -> None:
        """Something needs the result, so the call is sent now."""
        with self.lock:
            if future in self._waiting:
                self._start(future)

    def runs(self, future: PoolFuture[Any]) -> bool:
        """Asks the server, if it knows the call."""
        if future not in self._sent:
            return False
        try:
            return self._futures.is_running(future)
        except RainError:
            return False

    def shut(self) -> None:
        """Nothing more is submitted."""
        with self.lock:
            self._is_shut = True

    def cancel_all(self) -> None:
        """Cancels all that has not started."""
        self.cancel(self._unfinished())

    def wait(self) -> None:
        """Waits until all that was submitted before is done."""
        self._futures.sending.send()
        unfinished = self._unfinished()
        self._futures.work_until(lambda: all(future.is_done() for future in unfinished))
        concurrent.futures.wait(unfinished)

    def wait_here(self) -> None:
        """Waits, unless the pool belongs to the process that this one was forked from."""
        if os.getpid() == self._process:
            self.wait()

    def _unfinished(self) -> list[PoolFuture[Any]]:
        with self.lock:
            return [*self._sent, *self._waiting]

    def _check_usable(self) -> None:
        if self.broken is not None:
            raise InitializerError(*self.broken.args)
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if _exit.has_come:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    def _start_next(self) -> None:
        while self._waiting and (self._limit is None or len(self._sent) < self._limit):
            self._start(next(iter(self._waiting)))

    def _start(self, future: PoolFuture[Any]) -> None:
        del self._waiting[future]
        self._sent[future] = None
        if self._limit is not None:
            future.set_running_or_notify_cancel()
        self._futures.start(future)

    def _done(self, future: PoolFuture[Any]) -> None:
        """In the thread of the connection, or in the one that cancels."""
        error = None if future.cancelled() else future.failure
        with self.lock:
            self._leave(future)
            if error is not None and self._futures.sending.thread.is_over:
                self._drop(error)
            elif self.broken is None:
                self._start_next()
        if isinstance(error, InitializerError) and error.executor == self._key:
            self._break(error)

    def _leave(self, future: PoolFuture[Any]) -> None:
        self._sent.pop(future, None)
        self._waiting.pop(future, None)
        if not (self._sent or self._waiting):
            _at_work.discard(self)

    def _drop(self, error: BaseException) -> None:
        """The client is closed: calls that wait here will never be sent."""
        rest = list(self._waiting)
        self._waiting.clear()
        for future in rest:
            future.note_failed(error)

    def _break(self, error: InitializerError) -> None:
        """The initializer has failed in some process: the executor is broken."""
        with self.lock:
            if self.broken is not None:
                return
            _log.critical("Exception in initializer:\n%s", error.text)
            self.broken = error
        self._futures.callbacks.put(self._give_up, error)  # not here, where nothing may be sent

    def _give_up(self, error: InitializerError) -> None:
        with self.lock:
            rest = self._unfinished()
            sent = [future for future in rest if future in self._sent]
            for future in rest:
                future.note_failed(InitializerError(*error.args))
        with suppress(RainError):
            self._futures.give_up(sent)


class _Exit:
    """Whether the interpreter ends."""

    has_come = False
    is_awaited = False


_exit = _Exit()
_at_work: set[PoolState] = set()


def _wait_at_exit() -> None:
    """As executors of Python do. Clients are closed by what was registered before."""
    if not _exit.is_awaited:
        _exit.is_awaited = True
        atexit.register(_finish)


def _finish() -> None:
    _exit.has_come = True
    for pool in list(_at_work):
        pool.wait_here()
