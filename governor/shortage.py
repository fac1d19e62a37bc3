"""Errors for a lack of machine resources: a task could not start, through no fault of its own."""

from __future__ import annotations

import errno

_SHORTAGES = frozenset(
    {
        errno.EMFILE,  # descriptors of the process
        errno.ENFILE,  # descriptors of the machine
        errno.EAGAIN,  # processes
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EDQUOT,
    }
)


def is_shortage(error: OSError) -> bool:
    """Whether the operation could succeed on another governor, or here later."""
    return error.errno in _SHORTAGES
