"""Coroutines of the host that nobody waits for, and what they may not swallow."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeAlias

Promise: TypeAlias = Any  # of a call that was sent

_running: set[asyncio.Task[None]] = set()


def start(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Runs a coroutine of the host on its own; what it raises is ours."""
    task = asyncio.create_task(coroutine)
    _running.add(task)  # the loop alone would not keep it alive
    task.add_done_callback(_finished)
    return task


def _finished(task: asyncio.Task[None]) -> None:
    _running.discard(task)
    if not task.cancelled():
        # An error is raised here again, in a callback, which makes it the program's end.
        task.result()
