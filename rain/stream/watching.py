"""Observers of large transfers, which are called with the number of bytes as these arrive."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Protocol

from rain.stream.sockets import Note

WATCHED_FROM = 1 << 20
"""The smallest transfer that is watched: smaller ones end before anybody could see a bar."""


class Direction(Enum):
    RECEIVING = "receiving"
    SENDING = "sending"


class TransferWatch(Protocol):
    """Watches transfers; it is called by the threads that make them."""

    def watching(self, direction: Direction, length: int) -> AbstractContextManager[Note | None]:
        """Around a transfer of this size: what is to be told of them, if anybody looks.

        An object that is made again and sent from its beginning has moved fewer bytes than before.
        """
        ...


def watched(
    watch: TransferWatch | None, direction: Direction, length: int
) -> AbstractContextManager[Note | None]:
    """Around a transfer, of any size."""
    if watch is None or length < WATCHED_FROM:
        return nullcontext()
    return watch.watching(direction, length)
