"""Reads and writes records in a file: a length and a checksum precede each, so that damage is
noticed.

Four bytes are the length, four the CRC-32, and then comes the record. A writer that was killed
leaves a part of a record at the end of its file.
"""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

from attrs import define

from rain.base.errors import RainError

_HEAD = struct.Struct(">II")


class DamagedRecordError(RainError):
    """The checksum of a record is wrong."""


def frame(record: bytes) -> bytes:
    """Adds length and checksum to a record."""
    return _HEAD.pack(len(record), zlib.crc32(record)) + record


def holds_record(data: bytes) -> bool:
    """Whether a whole record begins anywhere in these bytes."""
    for place in range(len(data) - _HEAD.size):
        length, checksum = _HEAD.unpack_from(data, place)
        begin = place + _HEAD.size
        if 0 < length <= len(data) - begin and zlib.crc32(data[begin : begin + length]) == checksum:
            return True
    return False


@define
class Frames:
    """Reads the records of a file one by one."""

    _file: BinaryIO
    whole: int = 0  # bytes of the records that were read
    cut: int = 0  # bytes after the last whole record, once all is read

    def read(self) -> bytes | None:
        """The next record; None after the last whole one; `DamagedRecordError` if it is wrong."""
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            self.cut = len(head)
            return None
        length, checksum = _HEAD.unpack(head)
        record = self._file.read(length)
        if len(record) < length:
            self.cut = len(head) + len(record)
            return None
        self.whole += len(head) + length
        if zlib.crc32(record) != checksum:
            raise DamagedRecordError(f"damaged before byte {self._file.tell()}")
        return record
