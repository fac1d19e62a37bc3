"""The bytes of large objects for a client: from the governor that has them, or through the server.

Everything here runs in the thread of the user who waits for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, spell
from rain.base.leading import Servers
from rain.base.wire.answers import Fetched
from rain.base.wire.orders import SERVER
from rain.stream.copying import copy_bytes
from rain.stream.errors import NotHereError, UnreachableError
from rain.stream.machine import machine_id
from rain.stream.mapping import map_descriptor, open_same
from rain.stream.memory import receive_bytes
from rain.stream.protocol import SharedPlace
from rain.stream.ranges import Piece, Range, piece_of
from rain.stream.reading import StreamReader, Taker
from rain.stream.room import memory_left
from rain.stream.sockets import Connected, receive_file
from rain.tls.keys import NO_KEYS, Keys

T = TypeVar("T")

FILE_FROM = 64 * 1024 * 1024
MEMORY_SHARE = 4
"""From that size on, data that would take more than a fourth of the memory that is left is kept in
a file without a name, which the system may put out of memory. All other data becomes bytes."""

FETCH_ATTEMPTS = 3

AT_ONCE = 32
"""Objects that are read side by side."""


class IntoMemory:
    """Data that a program wants to look at."""

    def __init__(self) -> None:
        self.data: bytes | memoryview = b""

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        """Looks at the stored file itself. It stays as long as somebody looks."""
        descriptor = open_same(place)
        if descriptor is None:
            return False
        try:
            self.data = _mapped(descriptor, length)
        finally:
            os.close(descriptor)
        return True

    def take(self, connected: Connected, length: int) -> None:
        if length < FILE_FROM or length <= memory_left() // MEMORY_SHARE:
            self.data = receive_bytes(connected, length)
            return
        with tempfile.TemporaryFile() as file:
            _fill(file.fileno(), connected, length)
            self.data = _mapped(file.fileno(), length)


class IntoFile:
    """Data that a program wants as a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

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

    def take(self, connected: Connected, length: int) -> None:
        with self._path.open("wb") as file:
            _fill(file.fileno(), connected, length)


class Downloads:
    """Reads what a fetch has found, from the nearest place that gives it."""

    def __init__(self, servers: Servers, keys: Keys = NO_KEYS) -> None:
        self.reader = StreamReader(servers, machine=machine_id(), keys=keys)

    def read(self, holder: str, object_id: ObjectId, taker: Taker) -> None:
        """Raises `NotHereError`, `UnreachableError`, or what the taker raises."""
        self._from(holder, lambda source: self.reader.read(source, object_id, taker))

    def _from(self, holder: str, read: Callable[[str], T]) -> T:
        """What can be read from a governor, or else from it through the server."""
        if holder in {"", SERVER}:
            return read(SERVER)
        with suppress(UnreachableError, NotHereError):
            return read(holder)
        return read(SERVER)  # it reaches every governor

    def piece(
        self, fetched: Fetched, wanted: Range, ask_again: Callable[[ObjectId], Fetched]
    ) -> Piece:
        """A range of a finished object, from the place that has it by now.

        `RefusedError` if it has no such file.
        """
        object_id = fetched.report.id
        trouble = ""
        for attempt in range(FETCH_ATTEMPTS):
            if attempt:
                fetched = ask_again(object_id)
            if fetched.data is not None:
                return piece_of(fetched.data, wanted)
            try:
                return self._from(
                    fetched.holder,
                    lambda source: self.reader.read_range(source, object_id, wanted),
                )
            except (NotHereError, UnreachableError) as error:
                trouble = str(error)
        raise RefusedError(f"{spell(object_id)} cannot be fetched: {trouble}")

    def complete(
        self, fetched: Fetched, into: Path | None, ask_again: Callable[[ObjectId], Fetched]
    ) -> Fetched:
        """A finished object with its bytes, from the place that has them by now."""
        object_id = fetched.report.id
        trouble = ""
        for attempt in range(FETCH_ATTEMPTS):
            if attempt:  # it may have to be made again first
                fetched = ask_again(object_id)
            if fetched.data is not None:
                if into is None:
                    return fetched
                into.write_bytes(fetched.data)
                return Fetched(fetched.report)
            taker = IntoMemory() if into is None else IntoFile(into)
            try:
                self.read(fetched.holder, object_id, taker)
            except (NotHereError, UnreachableError) as error:
                trouble = str(error)
            else:
                return Fetched(
                    fetched.report, taker.data if isinstance(taker, IntoMemory) else None
                )
        raise RefusedError(f"{spell(object_id)} cannot be fetched: {trouble}")

    def complete_all(
        self, fetched: Sequence[Fetched], ask_again: Callable[[ObjectId], Fetched]
    ) -> list[Fetched]:
        """Several of these. Those whose bytes did not come along are read side by side: one after
        the other, each would take the time of its way again."""
        large = [one for one in fetched if one.data is None]
        if len(large) < 2:
            return [self.complete(one, None, ask_again) for one in fetched]

        def read_one(one: Fetched) -> Fetched:
            return self.complete(one, None, ask_again)

        pool = ThreadPoolExecutor(min(len(large), AT_ONCE), "rain-fetch")
        try:
            read = pool.map(read_one, large)
            completed = dict(zip([one.report.id for one in large], read, strict=True))
        finally:
            pool.shutdown(cancel_futures=True)
        return [completed.get(one.report.id, one) for one in fetched]

    def close(self) -> None:
        self.reader.close()


def _fill(descriptor: int, connected: Connected, length: int) -> None:
    if length:
        os.posix_fallocate(descriptor, 0, length)
    receive_file(connected, descriptor, length)


def _mapped(descriptor: int, length: int) -> memoryview:
    return map_descriptor(descriptor, length)
