"""Makes glibc return freed memory to the system.

glibc keeps freed memory in two ways, and neither is visible in Python's own statistics.

When the first large block is freed, glibc raises its mmap threshold and takes such blocks from its
heap, which shrinks only from its end. A server that has received long messages from several peers
at once would then keep most of that memory forever, although it is free.

A thread that finds the heap busy gets another heap, up to eight for each cpu, and free memory in
one heap is of no use for threads of another. The daemons do their file work in threads that come
and go, and these heaps grew for thousands of sessions. One heap is enough, as one thread at a time
runs Python.
"""

from __future__ import annotations

import ctypes

LARGE = 1024 * 1024
"""Blocks of at least this size are mapped separately and returned to the system at once."""

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


def keep_one_heap() -> None:
    """Lets all threads of this process share one heap. Does nothing without glibc."""
    _set(_M_ARENA_MAX, 1)


def give_back_large_blocks() -> None:
    """Fixes the threshold for this process. Does nothing without glibc."""
    _set(_M_MMAP_THRESHOLD, LARGE)


def _set(parameter: int, value: int) -> None:
    system = ctypes.CDLL(None)
    if hasattr(system, "mallopt"):
        system.mallopt(parameter, value)
