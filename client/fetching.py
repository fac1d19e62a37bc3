"""Fetching: the data of kept objects, which came with an answer or is asked for."""

import secrets
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
from rain.common.fs import unpack_file


def download(path: Path, data_type: DataType, fetch: Callable[[Path], None]) -> None:
    """Lets `fetch` write a file, and puts what it is under the path, whole or not at all.

    A blob becomes a file. A directory comes as an archive, which is unpacked into the path.
    """
    part = path.absolute().with_name(f".{path.name}-{secrets.token_hex(6)}")
    try:
        fetch(part)
        if data_type is DataType.DIRECTORY:
            unpack_file(part, path)
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


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
