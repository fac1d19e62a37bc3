"""Reads parts of kept objects: a range of bytes, or a file whose bytes are fetched on demand."""

from __future__ import annotations

import io

from rain.base.wire.answers import Fetched
from rain.client.connection import Connection
from rain.client.data import DataObject
from rain.client.sessions.fetching import Fetching
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.files.parts import open_part
from rain.stream.ranges import LARGEST, NoSuchFileError, Piece, Range

BUFFER = 1024 * 1024
"""Bytes that are read at a time of an object that is open as a file."""


def open_object(
    fetching: Fetching, connection: Connection, obj: DataObject, path: str
) -> io.BufferedReader:
    """The data of an object as a file."""
    _expect_file(obj, path)
    fetched = fetching.find(connection, obj)

    def read(start: int, stop: int) -> bytes:
        return _piece(fetching, connection, obj, fetched, Range(start, stop, path)).data

    size = _piece(fetching, connection, obj, fetched, Range(0, 0, path)).size
    return open_part(read, 0, size, buffer=BUFFER)


def fetch_range(
    fetching: Fetching,
    connection: Connection,
    obj: DataObject,
    start: int,
    stop: int | None,
    path: str,
) -> bytes:
    """Some bytes of an object."""
    _expect_file(obj, path)
    end = LARGEST if stop is None else stop
    if not 0 <= start <= end <= LARGEST:
        raise RainException(f"there are no bytes from {start} to {stop}")
    fetched = fetching.find(connection, obj)
    return _piece(fetching, connection, obj, fetched, Range(start, end, path)).data


def _piece(
    fetching: Fetching, connection: Connection, obj: DataObject, fetched: Fetched, wanted: Range
) -> Piece:
    try:
        with fetching.asking:
            return connection.piece(fetched, wanted)
    except NoSuchFileError as error:
        raise RainException(f"{obj!r}: {error}") from None


def _expect_file(obj: DataObject, path: str) -> None:
    is_folder = obj.data_type is DataType.DIRECTORY
    if path and not is_folder:
        raise RainException(f"{obj!r} is a blob, and has no file {path!r}")
    if is_folder and not path:
        raise RainException(f"{obj!r} is a directory: name one of its files")
