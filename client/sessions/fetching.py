"""Fetches the data of kept objects, unless it came with an earlier answer."""

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
from rain.client.sessions.waiting import Waiting
from rain.common.data_instance import DataInstance
from rain.common.data_type import DataType
from rain.common.fs import unpack_file
from rain.files.local import part_beside


def download(path: Path, data_type: DataType, fetch: Callable[[Path], None]) -> None:
    """Lets `fetch` write a file, and then moves the data to the path, completely or not at all.

    A blob becomes a file. A directory comes as an archive, which is unpacked into the path.
    """
    with part_beside(path.absolute()) as part:
        fetch(part)
        if data_type is DataType.DIRECTORY:
            unpack_file(part, path)
            part.unlink()
        else:
            part.replace(path)


class Fetching:
    """The fetches of one session."""

    def __init__(self, waiting: Waiting, results: ResultStore, asking: Asking) -> None:
        self._waiting = waiting
        self._results = results
        self.asking = asking

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
            with self.asking:
                found = connection.ask_all(list(map(Fetch, missing)))
                fetched.update(zip(missing, connection.complete_all(found), strict=True))
        return [held.instance(obj, fetched.get(obj.packed_id)) for obj in objects]

    def download(self, connection: Connection, obj: DataObject, path: Path) -> None:
        """Writes the data of an object to a path, as it comes."""

        if is_unfinished(obj):
            self._waiting.ask(connection, (), [obj], "all", None)

        def fetch(into: Path) -> None:
            with self.asking:
                fetched = connection.complete(connection.ask(Fetch(obj.packed_id)), into)
            obj.known_info = object_info(fetched.report)
            obj.known_state = DataObjectState.finished

        download(path, obj.data_type, fetch)

    def find(self, connection: Connection, obj: DataObject) -> Fetched:
        """Waits for an object, and says where it is; its bytes come along if they are few."""
        if is_unfinished(obj):
            self._waiting.ask(connection, (), [obj], "all", None)
        with self.asking:
            fetched = connection.ask(Fetch(obj.packed_id))
        obj.known_info = object_info(fetched.report)
        obj.known_state = DataObjectState.finished
        return fetched
