"""Records the events of a run, so that the run can be replayed with the same effects.

A turn depends only on the state and its `TurnInput`, so the inputs of all turns and the settings
describe the whole run. `rain server --record FILE` writes them; to analyse a run, a fresh reactor
reads them and makes the same turns.

The file starts with a line that identifies it, followed by records in msgpack (`framing`). The
first one is the header. If the writer was killed, the file ends in the middle of a record, which is
ignored.

A turn is written before it is made. An interruption of its scheduler is known only afterwards: a
record that is just a number says that the scheduler of the previous turn was interrupted after this
number of steps.
"""

from __future__ import annotations

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
from rain.server.core.messages import TurnInput
from rain.server.core.reactor import Reactor, TurnOutput
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.scheduling import Guard
from rain.server.core.state import State
from rain.server.framing import DamagedRecordError, Frames, frame
from rain.server.guard import guard_meanwhile
from rain.server.plain import from_plain, to_plain

PATIENCE = 3
"""The factor by which a scheduler may take longer in a replay than in the server."""

MAGIC = b"rain recording 10\n"
_LONGEST_NUMBER = 9
"""The largest size of a number in msgpack; every turn is longer."""
V = TypeVar("V")


class RecordingError(RainError):
    """A file is not a recording, is damaged, or has another version."""


class RecordingEnded(RainError):
    """The recording cannot be continued, because the disk is full or broken."""


@frozen
class Header:
    """The header of a recording: the initial data of a replay."""

    scheduler: str  # its name, as on the command line
    settings: ReactorSettings
    last_session: int = 0  # the last session number of earlier servers


def encode(value: Header | TurnInput) -> bytes:
    """Encodes one value as a record without its frame."""
    packed: bytes = msgpack.packb(to_plain(type(value), value), unicode_errors="surrogatepass")
    return packed


def encode_interruption(steps: int) -> bytes:
    """Encodes the number of steps after which the scheduler of a turn was interrupted."""
    packed: bytes = msgpack.packb(steps)
    return packed


def decode(kind: type[V], record: bytes) -> V:
    """Decodes a record."""
    try:
        return from_plain(kind, msgpack.unpackb(record, unicode_errors="surrogatepass"))
    except (TypeError, ValueError, KeyError, msgpack.UnpackException) as error:
        raise RecordingError(
            f"a record cannot be read as {kind.__name__}: {error}; was it written by another"
            " version of Rain?"
        ) from error


@define
class Recorder:
    """Writes the turns of a run; call it with each turn before it is made."""

    _path: Path
    _file: FileIO

    @staticmethod
    def create(path: Path, header: Header) -> Recorder:
        """Creates a new file; an old file with the same name is replaced."""
        try:
            recorder = Recorder(path, path.open("wb", buffering=0))  # a kill loses nothing
        except OSError as error:
            raise StartError(f"cannot write the recording {path}: {error.strerror}") from error
        try:
            recorder._write(MAGIC + frame(encode(header)))
        except RecordingEnded as error:
            recorder.close()
            raise StartError(str(error)) from error
        return recorder

    def __call__(self, given: TurnInput) -> None:
        """Writes a turn; raises `RecordingEnded` if the recording cannot be continued."""
        self._write(frame(encode(given)))

    def interrupted(self, steps: int) -> None:
        """Records that the scheduler was interrupted in the last turn."""
        self._write(frame(encode_interruption(steps)))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise RecordingEnded(
                f"cannot go on with the recording {self._path}: {error.strerror}"
            ) from error

    def close(self) -> None:
        """Closes the file at the end of the run."""
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
    """Reads a recording: the header, then the turns one by one."""

    _file: BinaryIO
    header: Header = field(init=False)
    _frames: Frames = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise RecordingError("this is not a recording of Rain, or one of another version")
        self._frames = Frames(self._file)
        record = self._record()
        if record is None:
            raise RecordingError("the recording ends before its header does")
        self.header = decode(Header, record)

    def turns(self) -> Iterator[TurnInput]:
        """Yields all turns up to the last whole record."""
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

    @property
    def cut(self) -> int:
        """Bytes after the last whole record, once all is read."""
        return self._frames.cut

    def _record(self) -> bytes | None:
        try:
            return self._frames.read()
        except DamagedRecordError as error:
            raise RecordingError(f"the recording is {error}") from error


def replay(recording: Recording, make: Callable[[], Scheduler]) -> Iterator[TurnOutput]:
    """Replays all turns of a recording, with new schedulers of the recorded name.

    A scheduler that was interrupted is interrupted again after the same number of steps. If the
    server was killed while its scheduler was running, it is unknown whether that run would have
    ended: so a scheduler that does not end here is also interrupted, which ends the replay. Use
    this only in the main thread.
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
    """Interrupts a scheduler that does not end. Allows for a machine slower than the server's."""
    return guard_meanwhile(PATIENCE * header.settings.scheduler_limit)


def check_end(given: TurnInput, output: TurnOutput) -> None:
    """Checks that the scheduler of a turn has ended in the same way as in the recording."""
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
