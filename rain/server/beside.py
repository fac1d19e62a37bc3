"""Runs a background task for the duration of a block."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio

from rain.base.errors import RainError


@asynccontextmanager
async def beside(
    run: Callable[[], Awaitable[None]], end: Callable[[], object]
) -> AsyncGenerator[None]:
    """Runs the task in the background of a block; then calls `end` and waits for the task.

    A `RainError` or Ctrl-C leaves the block as itself and not in an exception group.
    """
    named: RainError | KeyboardInterrupt | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        try:
            yield
        except (RainError, KeyboardInterrupt) as error:
            named = error
        finally:
            end()
    if named is not None:
        raise named
