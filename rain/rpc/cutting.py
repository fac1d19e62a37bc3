"""Cuts a byte stream into pieces that begin with their length. Pure.

The pieces are the messages of Cap'n Proto (`capnproto.messages`) and the frames of executors
(`executor_frames`), which differ in how they begin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod


class Cutter(ABC):
    """Takes chunks of any size, and gives the pieces that are complete."""

    skipped = 0
    """Bytes at the beginning of each piece that are not given."""

    def __init__(self, least: int) -> None:
        self._incomplete = bytearray()  # the beginning of a piece
        self._needed = least  # how long it must be before it makes sense to look again

    @abstractmethod
    def _length(self, chunk: bytes, start: int) -> int:
        """Bytes of the piece that begins here, or as many as are needed to know that."""

    @property
    def in_piece(self) -> bool:
        """Whether the stream would end in the middle of a piece."""
        return bool(self._incomplete)

    def forget(self) -> None:
        """Nothing more comes: the beginning of a piece is let go."""
        self._incomplete.clear()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The pieces that are complete with this chunk."""
        if self._incomplete:
            self._incomplete += chunk
            if len(self._incomplete) < self._needed:
                return []
            chunk = bytes(self._incomplete)
            self._incomplete.clear()
        pieces: list[bytes] = []
        start, skipped = 0, self.skipped
        while start < len(chunk):
            length = self._length(chunk, start)
            if len(chunk) - start < length:
                self._incomplete += memoryview(chunk)[start:]
                self._needed = length
                break
            pieces.append(chunk[start + skipped : start + length])
            start += length
        return pieces
