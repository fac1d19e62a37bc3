"""What a governor has for readers of its data: implements `rain.rpc.streams.StreamSource`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rain.base.ids import ObjectId
from rain.governor.core.reactor import Reactor
from rain.governor.storage.store import Store
from rain.stream.holder import Held, InFile, InFolder, InMemory

if TYPE_CHECKING:
    from rain.governor.storage.far_store import FarStore


class HeldObjects:
    """Finds objects in memory, in the store and in the far store."""

    def __init__(self, reactor: Reactor, store: Store, far: FarStore | None) -> None:
        self._reactor = reactor
        self._store = store
        self._far = far

    def find(self, object_id: ObjectId) -> Held | None:
        found = self._reactor.find(object_id)
        if found is None or found.content is None:
            number = self._reactor.far(object_id)
            return self._far.find(number) if number and self._far is not None else None
        if isinstance(found.content, bytes):
            return InMemory(found.content)
        path = self._store.path(found.content)
        return InFolder(path) if path.is_dir() else InFile.open(path)
