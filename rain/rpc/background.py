"""Work that a daemon does beside its turns: timers, watched descriptors, threads.

A turn is a plain function that never waits. The work that it starts runs in tasks of the program's
nursery, and ends with the program. An exception in such a task is a bug of ours, and ends the
program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, TypeVarTuple

import outcome
import trio

from rain.base.errors import RainError
from rain.base.shortage import is_shortage
from rain.stream.sockets import BrokenError

NO_THREAD_PAUSE = 0.5
"""Seconds between two tries to start a thread, when the system has refused one."""

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
Ts = TypeVarTuple("Ts")


class Timer:
    """A plain function that is called after some time, unless it is cancelled before."""

    def __init__(self, scope: trio.CancelScope) -> None:
        self._scope = scope

    def cancel(self) -> None:
        self._scope.cancel()


class DescriptorWatch:
    """Calls a plain function whenever a descriptor can be read, until it is stopped.

    The owner of the descriptor stops the watch before closing it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._stopped = False

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            trio.lowlevel.notify_closing(self._descriptor)

    async def run(self, on_readable: Callable[[], object]) -> None:
        try:
            while not self._stopped:
                await trio.lowlevel.wait_readable(self._descriptor)
                if not self._stopped:
                    on_readable()
        except trio.ClosedResourceError:
            return


class Background:
    """The tasks of one nursery. All of it belongs to the thread of trio."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._token = trio.lowlevel.current_trio_token()

    def from_thread(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """In another thread: calls a plain function here, and waits for what it returns.

        `BrokenError` when the program ends. A `RainError` is raised in the other thread; any other
        exception is a bug of ours, and ends the program.
        """

        def run() -> outcome.Outcome[T]:
            result = outcome.capture(function, *args)
            if isinstance(result, outcome.Error) and not isinstance(result.error, RainError):
                self._nursery.start_soon(_raise, result.error)
                return outcome.Error(BrokenError("the program fails"))
            return result

        try:
            return trio.from_thread.run_sync(run, trio_token=self._token).unwrap()
        except trio.RunFinishedError:
            raise BrokenError("the program ends") from None

    def start(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
        """Starts a task."""
        self._nursery.start_soon(function, *args)

    def later(self, seconds: float, function: Callable[[*Ts], object], *args: *Ts) -> Timer:
        """Calls a plain function after this time."""
        scope = trio.CancelScope()

        async def wait() -> None:
            with scope:
                await trio.sleep(seconds)
            if not scope.cancel_called:
                function(*args)

        self._nursery.start_soon(wait)
        return Timer(scope)

    def watch(self, descriptor: int, on_readable: Callable[[], object]) -> DescriptorWatch:
        """Calls a plain function whenever the descriptor can be read."""
        watch = DescriptorWatch(descriptor)
        self._nursery.start_soon(watch.run, on_readable)
        return watch

    def in_thread(
        self, function: Callable[[], T], done: Callable[[outcome.Outcome[T]], object]
    ) -> None:
        """Runs a function that blocks in a thread; `done` is then called here.

        The program does not wait for the thread when it ends.
        """

        async def run() -> None:
            done(await in_a_thread(partial(outcome.capture, function)))

        self._nursery.start_soon(run)


def trouble_of(result: outcome.Outcome[object], *expected: type[E]) -> E | None:
    """The error with which a thread has ended, if it is one of these.

    It is not raised: its traceback would then refer to the frames of the loop, and one of these
    refers to the error. Such a reference cycle stays until the garbage collector runs, which is
    seldom (`rain.daemon.garbage`).
    """
    if isinstance(result, outcome.Error) and isinstance(result.error, expected):
        return result.error
    return None


async def in_a_thread(function: Callable[[], T], *, abandon: bool = True) -> T:
    """Runs a function that blocks in a thread, as soon as the system gives one."""
    while True:
        try:
            return await trio.to_thread.run_sync(
                function, abandon_on_cancel=abandon, limiter=UNLIMITED
            )
        except RuntimeError as error:
            if not is_shortage(error):
                raise
        await trio.sleep(NO_THREAD_PAUSE)


async def _raise(error: BaseException) -> None:
    raise error


UNLIMITED = trio.CapacityLimiter(10_000)
"""Each user of threads limits their number itself; a limit of trio would be one for all of them."""
