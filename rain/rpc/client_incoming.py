"""Collects the bytes of an object that a client receives, in memory or in a file.

If the transfer from one holder breaks off, another holder of the same bytes continues from there,
as for a governor (`rain.governor.storage.arriving`). Only one thread, that of the transfer, uses
this.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO

from rain.stream.copying import copy_bytes
from rain.stream.mapping import map_descriptor, open_same
from rain.stream.memory import blank_bytes, fill
from rain.stream.protocol import SharedPlace
from rain.stream.room import memory_left
from rain.stream.sockets import Incoming, Note, receive_file
from rain.stream.stamps import Stamp

FILE_FROM = 64 * 1024 * 1024
MEMORY_SHARE = 4
"""Data of at least `FILE_FROM` bytes that would take more than a fourth of the free memory is kept
in an unnamed file, whose pages the kernel can write out. All other data becomes bytes.
"""


class Received:
    """How much has come, and of what."""

    def __init__(self, note: Note | None) -> None:
        self.bytes = 0
        self._stamp: Stamp | None = None
        self._note = note

    @property
    def has(self) -> tuple[int, Stamp] | None:
        if self._stamp is None or not self.bytes:
            return None
        return self.bytes, self._stamp

    def begin(self, stamp: Stamp | None) -> None:
        self._stamp = stamp
        self.bytes = 0

    def note(self, received: int) -> None:
        self.bytes = received
        if self._note is not None:
            self._note(received)


class IntoMemory:
    """Data that a program wants to look at."""

    def __init__(self, note: Note | None = None) -> None:
        self.data: bytes | memoryview = b""
        self._received = Received(note)
        self._blank = b""
        self._file: IO[bytes] | None = None  # without a name, instead of the blank bytes

    def close(self) -> None:
        """Only `data` stays, which may be a map of the file."""
        self._blank = b""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def has(self) -> tuple[int, Stamp] | None:
        return self._received.has

    def begin(self, stamp: Stamp | None) -> None:
        self._received.begin(stamp)

    def put(self, data: bytes | memoryview) -> bytes | memoryview:
        """It came along with an answer."""
        return data

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        """Looks at the stored file itself. It stays as long as it is open."""
        descriptor = open_same(place)
        if descriptor is None:
            return False
        try:
            self.data = map_descriptor(descriptor, length)
        finally:
            os.close(descriptor)
        return True

    def take(self, connected: Incoming, length: int) -> None:
        self.close()
        if length < FILE_FROM or length <= memory_left() // MEMORY_SHARE:
            self._blank = blank_bytes(length)
        else:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 # `close` closes it
            os.posix_fallocate(self._file.fileno(), 0, length)
        self.take_rest(connected)

    def take_rest(self, connected: Incoming) -> None:
        received = self._received
        if self._file is None:
            fill(connected, self._blank, received.bytes, received.note)
            self.data = self._blank
            return
        file = self._file.fileno()
        length = os.fstat(file).st_size
        receive_file(connected, file, length, received.bytes, received.note)
        self.data = map_descriptor(file, length)


class IntoFile:
    """Data that a program wants as a file."""

    data = None

    def __init__(self, path: Path, note: Note | None = None) -> None:
        self._path = path
        self._received = Received(note)

    def close(self) -> None:
        """The file belongs to the caller, whatever has come of it."""

    @property
    def has(self) -> tuple[int, Stamp] | None:
        return self._received.has

    def begin(self, stamp: Stamp | None) -> None:
        self._received.begin(stamp)

    def put(self, data: bytes | memoryview) -> None:
        """It came along with an answer."""
        self._path.write_bytes(data)

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        descriptor = open_same(place)
        if descriptor is None:
            return False
        try:
            with self._path.open("wb") as file:
                copy_bytes(descriptor, file.fileno(), length)
        finally:
            os.close(descriptor)
        return True

    def take(self, connected: Incoming, length: int) -> None:
        with self._path.open("wb") as file:
            if length:
                os.posix_fallocate(file.fileno(), 0, length)
        self.take_rest(connected)

    def take_rest(self, connected: Incoming) -> None:
        received = self._received
        with self._path.open("r+b") as file:
            length = os.fstat(file.fileno()).st_size
            receive_file(connected, file.fileno(), length, received.bytes, received.note)
