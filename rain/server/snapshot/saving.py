"""Saves the whole state of the server between two turns, and loads it again.

A loaded state makes the same effects as the saved one, turn by turn. It contains not only the
nodes, but the complete state of the reactor, down to the order of each queue. Only the fields that
`leaving_out` lists are not saved.

The file begins with a line that identifies it; records follow (`rain.server.framing`). The first
one names each class, how many objects of it there are, and the fields that are saved. Then come the
fields, column by column, and at last the number of records. A later version uses the default for a
field that is missing in the file. An unknown field is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import msgpack
from attrs import frozen

from rain.base.errors import InvariantError
from rain.graph import check
from rain.server.core.state import State
from rain.server.core.submitting import read_again
from rain.server.framing import DamagedRecordError, Frames
from rain.server.migrations import LaterFormatError
from rain.server.snapshot.reading import Columns, SnapshotError
from rain.server.snapshot.writing import Records

MAGIC = b"rain snapshot 1\n"


@frozen
class Saved:
    """The content of a snapshot."""

    state: State
    turns: int  # the number of the last turn before it


def save(state: State, turns: int = 0) -> Iterator[bytes]:
    """The snapshot in pieces, to be written one after the other before the next turn."""
    if state.has_effects:
        raise InvariantError("a state is saved only between two turns")
    records = Records()
    records.reach(Saved(state, turns))
    yield MAGIC
    yield from records.take_all()


def load(file: BinaryIO | bytes, trusted: str = "") -> Saved:
    """The saved state. Raises `SnapshotError`.

    The checker looks at it, unless it was written by the release of Rain that is trusted. A
    checksum detects damage. The checker only finds bugs of ours, for example if a new release
    misreads the file of an old one.
    """
    opened = BytesIO(file) if isinstance(file, bytes) else file
    if opened.read(len(MAGIC)) != MAGIC:
        raise SnapshotError("this is not a snapshot of Rain, or one of another version")
    try:
        columns = Columns.of(_records(opened))
        saved: Saved = columns.make(Saved)
    except LaterFormatError as error:
        raise SnapshotError(str(error)) from error
    except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error!r}") from error
    state = saved.state
    state.graph.look_into_sessions()
    for growing in state.growing.values():
        read_again(state, growing)
    if not trusted or columns.written_by != trusted:
        check(state.graph)
    return saved


def _records(file: BinaryIO) -> Iterator[bytes]:
    frames = Frames(file)
    try:
        while (record := frames.read()) is not None:
            yield record
    except DamagedRecordError as error:
        raise SnapshotError(f"the snapshot is {error}") from error
