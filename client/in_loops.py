"""`await future`: in asyncio and in trio, without a thread for each wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

import trio

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Awaited(Protocol[T_co]):
    """A future, as far as a loop has to know it."""

    @property
    def is_here(self) -> bool: ...
    def result(self) -> T_co: ...
    def cancel(self) -> bool: ...
    def when_done(self, then: Callable[[object], object]) -> None: ...


async def wait_for(future: Awaited[T]) -> T:
    """The result, in whichever loop this runs. Cancelling the wait cancels the call."""
    if trio.lowlevel.in_trio_run():
        return await _in_trio(future)
    return await _in_asyncio(future)


async def _in_asyncio(future: Awaited[T]) -> T:
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def wake() -> None:
        if not done.done():
            done.set_result(None)

    def note(_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    future.when_done(note)
    try:
        await done
    except asyncio.CancelledError:
        future.cancel()
        raise
    if future.is_here:
        return future.result()
    return await asyncio.to_thread(future.result)


async def _in_trio(future: Awaited[T]) -> T:
    token = trio.lowlevel.current_trio_token()
    done = trio.Event()

    def note(_: object) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(done.set)

    future.when_done(note)
    try:
        await done.wait()
    except trio.Cancelled:
        future.cancel()
        raise
    if future.is_here:
        return future.result()
    return await trio.to_thread.run_sync(future.result)
