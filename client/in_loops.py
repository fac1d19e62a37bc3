"""Waits in asyncio and trio programs, without a thread for each wait.

Neither library is loaded unless the program uses it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from rain.client.explaining.tracebacks import hide_frames
from rain.common.running import waiting_for_tasks, was_interrupted

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def is_trio() -> bool:
    """Whether the caller runs in a task of trio."""
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_run()


def is_in_loop() -> bool:
    """Whether the caller runs in an event loop, which a long call would block."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            return True
    return is_trio()


def expect_no_wait_of_asyncio(callback: object) -> None:
    """Refuses callbacks of `asyncio.wait`, which would never be woken by another thread. All other
    functions of asyncio await the future, or wrap it in a task.
    """
    if getattr(callback, "__module__", None) == "asyncio.tasks":
        raise TypeError(
            "asyncio.wait takes tasks of asyncio, and this is one of an executor: write"
            " asyncio.wait([asyncio.ensure_future(future) for future in futures])"
        )


class Awaited(Protocol[T_co]):
    """The part of a future that an event loop needs."""

    @property
    def is_here(self) -> bool: ...
    def result(self) -> T_co: ...
    def cancel(self) -> bool: ...
    def when_done(self, then: Callable[[Any], object]) -> None: ...


async def wait_for(future: Awaited[T]) -> T:
    """The result, in asyncio or in trio. Cancelling the wait cancels the call."""
    arrivals: Mailbox[object] = Mailbox()
    future.when_done(arrivals.put)
    try:
        with waiting_for_tasks():
            await arrivals.get()
    except BaseException:
        if not was_interrupted():  # else the one that cancelled the task has decided about these
            future.cancel()
        raise
    try:
        return future.result() if future.is_here else await in_thread(future.result)
    except BaseException as error:
        hide_frames(error)
        raise


async def in_thread(function: Callable[[], T], *, shielded: bool = False) -> T:
    """Calls what blocks in a thread of the loop; `shielded`, a cancellation waits for its end."""
    if not is_trio():
        import asyncio  # noqa: PLC0415 # takes long, and most programs have no loop

        running = asyncio.ensure_future(asyncio.to_thread(function))
        try:
            return await (asyncio.shield(running) if shielded else running)
        except asyncio.CancelledError:
            if shielded:
                await running
            raise
    import trio  # noqa: PLC0415 # programs with asyncio need not load it

    results: list[T] = []
    with trio.CancelScope(shield=shielded):
        results.append(await trio.to_thread.run_sync(function))
    return results[0]


class Mailbox(Generic[T]):
    """Values from other threads, for one task of the loop in which it was made."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        if is_trio():
            self._wake, self._woken = _trio_bell()
        else:
            self._wake, self._woken = _asyncio_bell()

    def put(self, item: T) -> None:
        """Adds a value, from any thread; never blocks.

        When the loop has ended, the value is dropped.
        """
        self._items.append(item)
        self._wake()

    async def get(self) -> T:
        """Waits for the next value."""
        while not self._items:
            await self._woken()
        return self._items.popleft()


def _asyncio_bell() -> tuple[Callable[[], None], Callable[[], Any]]:
    import asyncio  # noqa: PLC0415 # as above

    loop = asyncio.get_running_loop()
    rung = asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(rung.set)

    async def woken() -> None:
        await rung.wait()
        rung.clear()

    return wake, woken


def _trio_bell() -> tuple[Callable[[], None], Callable[[], Any]]:
    import trio  # noqa: PLC0415 # as above

    token = trio.lowlevel.current_trio_token()
    rung = trio.Event()

    def ring() -> None:
        rung.set()

    def wake() -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(ring)

    async def woken() -> None:
        nonlocal rung
        await rung.wait()
        rung = trio.Event()

    return wake, woken
