"""What a machine runs out of: then a task could not be started, and that is not its own fault."""

from __future__ import annotations

import errno

_SHORTAGES = frozenset(
    {
        errno.EMFILE,  # descriptors, of the process
        errno.ENFILE,  # and of the machine
        errno.EAGAIN,  # processes
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EDQUOT,
    }
)


def is_shortage(error: OSError) -> bool:
    """Whether the same could work on another governor, or here later."""
    return error.errno in _SHORTAGES
