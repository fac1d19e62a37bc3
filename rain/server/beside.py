"""A task that runs beside a block, for as long as the block runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio

from rain.base.errors import RainError


@asynccontextmanager
async def beside(
    run: Callable[[], Awaitable[None]], end: Callable[[], object]
) -> AsyncGenerator[None]:
    """Runs the task beside the block, calls `end` after the block, and waits until it has ended.

    What has a name, and Ctrl-C, come out of the block as themselves and not as a group of one.
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
