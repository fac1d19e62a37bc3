"""Writes large files in pieces, after reserving their space.

In a single call the kernel looks for larger pages, which takes up to four times as long. Reserving
the space costs nothing, and saves a third of the remaining time, since the kernel need not reserve
block by block. In a memory file system it would cost more than it saves, because the kernel clears
the pages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

PIECE = 1 << 20
"""Bytes that are written at once."""


def reserve(descriptor: int, length: int) -> None:
    """Reserves the place of a new file on a disk. A full disk says so at once."""
    os.posix_fallocate(descriptor, 0, length)


def in_pieces(parts: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The same bytes, with views of the pieces of each large part."""
    for part in parts:
        if len(part) <= PIECE:
            yield part
            continue
        whole = memoryview(part)
        for start in range(0, len(whole), PIECE):
            yield whole[start : start + PIECE]
