"""The events of a run, written down as they come, to be replayed to the same effects.

A turn depends on nothing but the state and its `TurnInput`, so the inputs of all turns and the
settings are the whole run. `rain server --record FILE` writes them; whoever wants to know why a run
went as it did reads them back and lets a fresh reactor make the same turns.

The file starts with a line that names it. Then come records: four bytes with the length, four with
the CRC-32, and the record in msgpack. The first one is the header. A file whose writer was killed
ends in the middle of a record; it counts up to the last whole one.

A turn is written before it is made. That its scheduler was interrupted is known only afterwards: a
record that is a mere number, of the steps that were made, says so of the turn before it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

import msgpack
from attrs import define, field, frozen

from rain.base.errors import RainError, StartError
from rain.base.moments import rfc3339
from rain.scheduler.api import Scheduler
from rain.server.guard import guard_meanwhile
from rain.server.messages import TurnInput
from rain.server.plain import from_plain, to_plain
from rain.server.reactor import Reactor, TurnOutput
from rain.server.scheduling import Guard
from rain.server.state import ReactorSettings, State

PATIENCE = 3
"""A scheduler may take so many times as long in a replay as in the server."""

MAGIC = b"rain recording 7\n"
_FRAME = struct.Struct(">II")
_LONGEST_NUMBER = 9
"""Bytes in msgpack; no turn is so short."""
V = TypeVar("V")


class RecordingError(RainError):
    """A file is not a recording, or a damaged one, or of another version."""


class RecordingEnded(RainError):
    """The disk takes no more of a recording: it counts up to its last whole record."""


@frozen
class Header:
    """What a replay must start with."""

    scheduler: str  # its name, as on the command line
    settings: ReactorSettings
    last_session: int = 0  # the number that the sessions of an earlier server had reached


def encode(value: Header | TurnInput) -> bytes:
    """One value as a record without its frame."""
    packed: bytes = msgpack.packb(to_plain(type(value), value), unicode_errors="surrogatepass")
    return packed


def encode_interruption(steps: int) -> bytes:
    """What is known of a turn when it was made: after so many steps its scheduler had to stop."""
    packed: bytes = msgpack.packb(steps)
    return packed


def decode(kind: type[V], record: bytes) -> V:
    """The value of a record."""
    try:
        return from_plain(kind, msgpack.unpackb(record, unicode_errors="surrogatepass"))
    except (TypeError, ValueError, KeyError, msgpack.UnpackException) as error:
        raise RecordingError(
            f"a record cannot be read as {kind.__name__}: {error}; was it written by another"
            " version of Rain?"
        ) from error


def frame(record: bytes) -> bytes:
    """A record with its length and checksum."""
    return _FRAME.pack(len(record), zlib.crc32(record)) + record


@define
class Recorder:
    """Writes the turns of a run; call it with each before the turn is made."""

    _path: Path
    _file: FileIO

    @staticmethod
    def create(path: Path, header: Header) -> Recorder:
        """Starts a new file; an old one of the same name is replaced."""
        try:
            recorder = Recorder(path, path.open("wb", buffering=0))  # nothing to lose in a kill
        except OSError as error:
            raise StartError(f"cannot write the recording {path}: {error.strerror}") from error
        try:
            recorder._write(MAGIC + frame(encode(header)))
        except RecordingEnded as error:
            recorder.close()
            raise StartError(str(error)) from error
        return recorder

    def __call__(self, given: TurnInput) -> None:
        """Writes a turn, or raises `RecordingEnded`: then it was the last one."""
        self._write(frame(encode(given)))

    def interrupted(self, steps: int) -> None:
        """The scheduler was interrupted in the turn that was just made."""
        self._write(frame(encode_interruption(steps)))

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise RecordingEnded(
                f"cannot go on with the recording {self._path}: {error.strerror}"
            ) from error

    def close(self) -> None:
        """The run is over."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@define
class Recording:
    """A recording that is being read: the header, then the turns one by one."""

    _file: BinaryIO
    header: Header = field(init=False)
    cut: int = field(init=False, default=0)  # bytes behind the last whole record, when all is read

    def __attrs_post_init__(self) -> None:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise RecordingError("this is not a recording of Rain, or one of another version")
        record = self._record()
        if record is None:
            raise RecordingError("the recording ends before its header does")
        self.header = decode(Header, record)

    def turns(self) -> Iterator[TurnInput]:
        """All turns up to the last whole one."""
        turn: TurnInput | None = None
        while (record := self._record()) is not None:
            if turn is not None and len(record) <= _LONGEST_NUMBER:
                turn.interrupted_after = decode(int, record)
                continue
            if turn is not None:
                yield turn
            turn = decode(TurnInput, record)
        if turn is not None:
            yield turn

    def _record(self) -> bytes | None:
        head = self._file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            self.cut = len(head)
            return None
        length, checksum = _FRAME.unpack(head)
        record = self._file.read(length)
        if len(record) < length:
            self.cut = len(head) + len(record)
            return None
        if zlib.crc32(record) != checksum:
            raise RecordingError(f"the recording is damaged before byte {self._file.tell()}")
        return record


def replay(recording: Recording, make: Callable[[], Scheduler]) -> Iterator[TurnOutput]:
    """Makes all turns of a recording again, with fresh schedulers of the recorded name.

    One that was interrupted is so again, after as many steps. If the server was killed while its
    scheduler was running, nobody knows whether that would have ended: so one that does not end here
    is interrupted, too, which ends the replay. This is for the main thread alone.
    """
    state = State(recording.header.settings)
    state.graph.last_session = recording.header.last_session
    with guard_replay(recording.header) as guard:
        reactor = Reactor(make, state, guard)
        for given in recording.turns():
            output = reactor.turn(given)
            check_end(given, output)
            yield output


def guard_replay(header: Header) -> AbstractContextManager[Guard]:
    """Interrupts a scheduler that does not end. This machine may be slower than the server's."""
    return guard_meanwhile(PATIENCE * header.settings.scheduler_limit)


def check_end(given: TurnInput, output: TurnOutput) -> None:
    """A turn is like the recorded one only if its scheduler has ended in the same way."""
    was, now = given.interrupted_after, output.interrupted_after
    if was == now:
        return
    if was is None:
        raise RecordingError(
            f"the scheduler does not end in the turn of {rfc3339(given.now)}: it was interrupted"
            f" after {now} steps; in the recording it was not, unless the server was killed then"
        )
    raise RecordingError(
        f"the scheduler does not do what it did in the turn of {rfc3339(given.now)}: it was"
        f" interrupted after {now} steps, and in the recording after {was}"
    )
