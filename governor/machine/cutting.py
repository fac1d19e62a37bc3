"""Keeps the output files of tasks small while they print.

Only the start and the end of a stream are kept (`rain/common/printed.py`). But until its task has
ended, all of it is in a file, and a task that prints gigabytes would fill the disk. So the middle
of a large file is replaced by a hole again and again. Size and offsets stay the same, so writers
and readers of the file notice nothing.

An executor empties its files between two tasks, and a hole must not get into the output of the next
one. So both sides lock a large file for that moment.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from functools import partial
from pathlib import Path
from typing import TypeAlias

import trio
from structlog.typing import FilteringBoundLogger

from rain.common.printed import CUT_FROM, HEAD, TAIL
from rain.rpc.background import in_a_thread

LOOK = 1.0
"""Seconds between two looks at the files."""

SOON = 0.05
"""Seconds between two looks while something prints much."""

Printed: TypeAlias = Path | int
"""A file that is being printed into, or its descriptor."""

_BLOCK = 4096  # of a filesystem; parts of one are not given back
_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # of linux/falloc.h
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_UNABLE = {errno.EOPNOTSUPP, errno.ENOSYS}


async def keep_cutting(
    printing: Callable[[], Iterable[Printed]], log: FilteringBoundLogger
) -> None:
    """Cuts large output files, until the end of the governor."""
    pause = LOOK
    while True:
        await trio.sleep(pause)
        large = [opened for opened in map(open_large, printing()) if opened is not None]
        pause = SOON if large else LOOK
        try:
            if large:
                await in_a_thread(partial(cut_all, large), abandon=False)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            log.warning(
                "what tasks print takes all of its room until they end: holes in files are not"
                " supported here",
                reason=error.strerror,
            )
            return


def open_large(printed: Printed) -> int | None:
    """Opens a file that is so large that it has to be cut; else returns None."""
    try:
        if not _is_large(os.stat(printed)):  # noqa: PTH116 # or a descriptor
            return None
        return os.dup(printed) if isinstance(printed, int) else os.open(printed, _OPEN)
    except OSError:  # it was put away, or there are no descriptors left: the next look comes soon
        return None


def cut_all(descriptors: Sequence[int]) -> None:
    """Cuts files, and closes them."""
    try:
        for descriptor in descriptors:
            with suppress(BlockingIOError):  # it is being emptied
                cut(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def cut(descriptor: int) -> None:
    """Gives the middle of a large file back, once it is locked; `BlockingIOError` if it cannot."""
    flock(descriptor, LOCK_EX | LOCK_NB)
    try:
        status = os.fstat(descriptor)
        if _is_large(status):
            end = (status.st_size - TAIL) // _BLOCK * _BLOCK
            _punch(descriptor, HEAD, end - HEAD)
    finally:
        flock(descriptor, LOCK_UN)


def _is_large(status: os.stat_result) -> bool:
    return status.st_size > CUT_FROM and status.st_blocks * 512 > CUT_FROM


def _punch(descriptor: int, start: int, length: int) -> None:
    import ctypes  # noqa: PLC0415 # most tasks print little

    system = ctypes.CDLL(None, use_errno=True)
    how = _KEEP_SIZE | _PUNCH_HOLE
    if system.fallocate(descriptor, how, ctypes.c_int64(start), ctypes.c_int64(length)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
