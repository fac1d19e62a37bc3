"""Ends a daemon on a signal, or when the process that started it has ended.

A daemon that may not end at once begins to leave with the first SIGTERM, and ends with the next
signal of any kind. SIGUSR2 means the same: Grid Engine sends it before it kills a job. SIGHUP ends
a daemon when its terminal is closed, unless it was started with `nohup`, which ignores that signal.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable

import trio

from rain.base.errors import StartError

_LEAVE = (signal.SIGTERM, signal.SIGUSR2)


async def end(
    parent_fd: int | None,
    asked: Awaitable[str] | None = None,
    leave: Callable[[], bool] = lambda: False,
) -> str:
    """Waits for a signal, or the end of the pipe from the parent; returns the cause.

    `asked` can be another cause: the daemon ends when it returns. With SIGTERM or SIGUSR2 `leave`
    says whether the daemon only begins to leave.
    """
    causes: list[str] = []
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    at_once = (signal.SIGINT,) if is_ignored else (signal.SIGINT, signal.SIGHUP)

    async with trio.open_nursery() as nursery:

        async def signalled() -> None:
            with trio.open_signal_receiver(*_LEAVE, *at_once) as signals:
                async for number in signals:
                    if number in _LEAVE and leave():
                        continue
                    causes.append(by_signal(signal.Signals(number)))
                    nursery.cancel_scope.cancel()

        async def orphaned(fd: int) -> None:
            await _end_of_pipe(fd)
            causes.append("the end of the process that started it")
            nursery.cancel_scope.cancel()

        async def asked_to(reason: Awaitable[str]) -> None:
            causes.append(await reason)
            nursery.cancel_scope.cancel()

        nursery.start_soon(signalled)
        if asked is not None:
            nursery.start_soon(asked_to, asked)
        if parent_fd is not None:
            nursery.start_soon(orphaned, parent_fd)
    return causes[0]


def by_signal(number: signal.Signals) -> str:
    """The cause of an end by a signal."""
    return f"the signal {number.name}"


async def _end_of_pipe(fd: int) -> None:
    try:
        os.set_blocking(fd, False)
        while True:
            await trio.lowlevel.wait_readable(fd)
            if not os.read(fd, 64):
                return
    except OSError as error:
        raise StartError(f"the parent descriptor {fd} cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)
