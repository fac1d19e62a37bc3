"""Ends an executor when its governor ends for any reason.

On Linux the kernel is asked to kill this process when its parent ends. A check of the parent's pid
detects a governor that ended before that. On other systems only the end of the socket is used.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Requests the parent-death signal; `parent` is the pid of the governor."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 # takes two milliseconds, which other systems save

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "the kernel refuses PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        sys.exit("the governor has ended")
