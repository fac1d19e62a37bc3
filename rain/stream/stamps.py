"""Tells whether two files on two machines have the same bytes, without reading them.

A stored file does not change. A receiver sets the modification time of the original. So all copies
of one file have the same length and the same time, to the nanosecond. If an object is made again,
the file has another time.
"""

from __future__ import annotations

import os
from struct import Struct

from attrs import frozen

from rain.base.errors import ProtocolError

_STAMP = Struct("!qQ")


@frozen
class Stamp:
    """When a file was written, and how long it is."""

    nanoseconds: int
    length: int

    @staticmethod
    def of(descriptor: int) -> Stamp:
        status = os.fstat(descriptor)
        return Stamp(status.st_mtime_ns, status.st_size)

    def mark(self, descriptor: int) -> None:
        """Makes a copy recognisable."""
        os.utime(descriptor, ns=(self.nanoseconds, self.nanoseconds))

    def encode(self) -> bytes:
        """16 bytes, as they are in a request."""
        return _STAMP.pack(self.nanoseconds, self.length)

    @staticmethod
    def decode(data: bytes) -> Stamp:
        return Stamp(*_STAMP.unpack(data))

    def spell(self) -> str:
        """As it is in an answer."""
        return self.encode().hex()

    @staticmethod
    def read(text: str) -> Stamp | None:
        """None if the answer has none: then nobody can go on from there."""
        if not text:
            return None
        try:
            data = bytes.fromhex(text)
        except ValueError:
            data = b""
        if len(data) != _STAMP.size:
            raise ProtocolError(f"a stream names the invalid stamp {text[:100]!r}")
        return Stamp.decode(data)
