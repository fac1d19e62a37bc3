"""Fetching: the data of kept objects, which came with an answer or is asked for."""

import io
from collections.abc import Callable
from pathlib import Path

from rain.base.ids import ObjectId
from rain.base.wire.answers import Fetched
from rain.base.wire.requests import Fetch
from rain.client.connection import Asking, Connection
from rain.client.data import DataObject
from rain.client.items import is_unfinished
from rain.client.reports import object_info
from rain.client.results import ResultStore
from rain.client.rpc.common import DataObjectState
from rain.client.waiting import Waiting
from rain.common.data_instance import DataInstance
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.fs import unpack_file
from rain.files.local import part_beside
from rain.files.parts import open_part
from rain.stream.ranges import LARGEST, NoSuchFileError, Piece, Range

BUFFER = 1024 * 1024
"""Bytes that are read at a time of an object that is open as a file."""


def download(path: Path, data_type: DataType, fetch: Callable[[Path], None]) -> None:
    """Lets `fetch` write a file, and puts what it is under the path, whole or not at all.

    A blob becomes a file. A directory comes as an archive, which is unpacked into the path.
    """
    with part_beside(path.absolute()) as part:
        fetch(part)
        if data_type is DataType.DIRECTORY:
            unpack_file(part, path)
            part.unlink()
        else:
            part.replace(path)


def checked_range(start: int, stop: int | None, path: str) -> Range:
    """RainException if these are no range."""
    end = LARGEST if stop is None else stop
    if not 0 <= start <= end <= LARGEST:
        raise RainException(f"there are no bytes from {start} to {stop}")
    return Range(start, end, path)


class Fetching:
    """The fetches of one session."""

    def __init__(self, waiting: Waiting, results: ResultStore, asking: Asking) -> None:
        self._waiting = waiting
        self._results = results
        self._asking = asking

    def bring(self, connection: Connection, objects: list[DataObject]) -> list[DataInstance]:
        """Waits for unfinished objects, and fetches those that did not come with the answer."""
        held = self._results
        delivered = held.all_delivered(objects)
        if delivered is not None:
            return delivered
        unfinished = [obj for obj in objects if is_unfinished(obj)]
        if any(held.get(obj.packed_id) is None for obj in unfinished):
            self._waiting.ask(connection, (), unfinished, "all", None)
        missing = [obj.packed_id for obj in objects if held.get(obj.packed_id) is None]
        fetched: dict[ObjectId, Fetched] = {}
        if missing:
            with self._asking:
                found = connection.ask_all(list(map(Fetch, missing)))
                fetched.update(zip(missing, map(connection.complete, found), strict=True))
        return [held.instance(obj, fetched.get(obj.packed_id)) for obj in objects]

    def download(self, connection: Connection, obj: DataObject, path: Path) -> None:
        """Writes the data of an object to a path, as it comes."""

        if is_unfinished(obj):
            self._waiting.ask(connection, (), [obj], "all", None)

        def fetch(into: Path) -> None:
            with self._asking:
                fetched = connection.complete(connection.ask(Fetch(obj.packed_id)), into)
            obj.known_info = object_info(fetched.report)
            obj.known_state = DataObjectState.finished

        download(path, obj.data_type, fetch)

    def open(self, connection: Connection, obj: DataObject, path: str) -> io.BufferedReader:
        """The data of an object as a file, which is read where it lies."""
        fetched = self._found(connection, obj)

        def read(start: int, stop: int) -> bytes:
            return self._piece(connection, obj, fetched, Range(start, stop, path)).data

        size = self._piece(connection, obj, fetched, Range(0, 0, path)).size
        return open_part(read, 0, size, buffer=BUFFER)

    def piece(self, connection: Connection, obj: DataObject, wanted: Range) -> bytes:
        """Some bytes of an object."""
        return self._piece(connection, obj, self._found(connection, obj), wanted).data

    def _found(self, connection: Connection, obj: DataObject) -> Fetched:
        if is_unfinished(obj):
            self._waiting.ask(connection, (), [obj], "all", None)
        with self._asking:
            fetched = connection.ask(Fetch(obj.packed_id))
        obj.known_info = object_info(fetched.report)
        obj.known_state = DataObjectState.finished
        return fetched

    def _piece(
        self, connection: Connection, obj: DataObject, fetched: Fetched, wanted: Range
    ) -> Piece:
        if obj.data_type is not DataType.DIRECTORY and wanted.path:
            raise RainException(f"{obj!r} is a blob, and has no file {wanted.path!r}")
        if obj.data_type is DataType.DIRECTORY and not wanted.path:
            raise RainException(f"{obj!r} is a directory: name one of its files")
        try:
            with self._asking:
                return connection.piece(fetched, wanted)
        except NoSuchFileError as error:
            raise RainException(f"{obj!r}: {error}") from None
