"""Makes glibc return freed memory to the system.

When the first large block is freed, glibc raises its mmap threshold and takes such blocks from its
heap, which shrinks only from its end. A server that has received long messages from several peers
at once would then keep most of that memory forever, although it is free.
"""

from __future__ import annotations

import ctypes

LARGE = 1024 * 1024
"""Blocks of at least this size are mapped separately and returned to the system at once."""

_M_MMAP_THRESHOLD = -3


def give_back_large_blocks() -> None:
    """Fixes the threshold for this process. Does nothing without glibc."""
    system = ctypes.CDLL(None)
    if hasattr(system, "mallopt"):
        system.mallopt(_M_MMAP_THRESHOLD, LARGE)
