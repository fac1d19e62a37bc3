"""How large files are written: in pieces, where the kernel has reserved the place.

In a single call the kernel looks for larger pages, which takes up to four times as long. Reserving
takes nothing, and saves a third of the rest: the kernel need not reserve block by block. In a
memory file system it would take more than it saves, since it clears the pages.
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
