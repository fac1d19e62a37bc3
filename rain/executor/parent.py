"""An executor dies with its governor, however that one dies.

On Linux the kernel is asked to kill this process when its parent ends. A governor that ended before
that request is found by its process id. Elsewhere the end of the socket has to do.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Arranges it; `parent` is the process that started this one."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 # two milliseconds that other systems need not spend

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "the kernel refuses PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        sys.exit("the governor has ended")
