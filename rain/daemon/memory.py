"""Memory that is not needed any more goes back to the system.

glibc learns from the first large block that is let go to take such blocks from its heap, which
shrinks from its end only. A server to which a few peers have sent long messages at the same time
would then keep most of these messages' memory for ever, though nothing is in it.
"""

from __future__ import annotations

import ctypes

LARGE = 1024 * 1024
"""Blocks from this size on are the system's own, and go back to it at once."""

_M_MMAP_THRESHOLD = -3


def give_back_large_blocks() -> None:
    """From now on, in this process. Other systems than glibc's have rules of their own."""
    system = ctypes.CDLL(None)
    if hasattr(system, "mallopt"):
        system.mallopt(_M_MMAP_THRESHOLD, LARGE)
