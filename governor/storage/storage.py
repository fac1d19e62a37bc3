"""What a governor does with stored data: carries out the effects on it, and says what is free.

What few governors need is imported with the first effect of its kind.
"""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from structlog.typing import FilteringBoundLogger

from rain.base.errors import InvariantError
from rain.governor.core.effects import (
    CopyToDisk,
    DeleteFar,
    DeleteFiles,
    DropCopy,
    FetchObject,
    KeepOutputs,
    LeaveMemory,
    LookUp,
    SendFar,
    StorageEffect,
)
from rain.governor.core.events import Tell
from rain.governor.storage.file_work import Deleter
from rain.governor.storage.store import Store
from rain.rpc.background import Background
from rain.stream.room import memory_left

if TYPE_CHECKING:
    from rain.governor.storage.cache_work import CacheWork
    from rain.governor.storage.far_store import FarStore
    from rain.governor.storage.moving import Mover

LOOK_AT_MEMORY_EVERY = 0.5
"""Seconds between two reads of the machine's free memory."""


class Storage:
    """All work on the store of a governor, and on its far store if it may spill data."""

    def __init__(
        self,
        store: Store,
        far: FarStore | None,
        background: Background,
        tell: Tell,
        log: FilteringBoundLogger,
        cache_limit: int | None = None,
    ) -> None:
        self._store = store
        self._far = far
        self._background = background
        self._tell = tell
        self._log = log
        self._cache_limit = cache_limit
        self._deleter = Deleter(store, background)
        self._mover: Mover | None = None  # until something leaves shared memory
        self._caches: CacheWork | None = None  # until a task has a cache
        self._told_room = 0  # for a new file in shared memory
        self._memory_left = inf
        self._look_at_memory = 0.0  # the time of the next look

    def carry(self, effect: StorageEffect) -> None:
        """Carries out an effect; what takes long is done in threads."""
        match effect:
            case DeleteFiles(files, tell):
                self._deleter.delete(files, self._tell if tell else None)
            case LookUp():
                self._get_caches().look_up(effect)
            case KeepOutputs():
                self._get_caches().keep(effect)
            case CopyToDisk() | LeaveMemory() | DropCopy():
                self._get_mover().carry(effect)
            case SendFar():
                self._get_far().send(effect, self._tell)
            case DeleteFar():
                self._get_far().delete(effect)

    def bring_back(self, effect: FetchObject) -> None:
        """Fetches an object from the far store."""
        self._get_far().fetch(effect, self._tell)

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders that have files of objects."""
        return self._store.folders

    def free(self) -> int:
        """The free bytes of the disk."""
        return self._store.free()

    def memory_left(self, now: float) -> float:
        """The free memory of the machine, as it was a moment ago."""
        if now >= self._look_at_memory:
            self._look_at_memory = now + LOOK_AT_MEMORY_EVERY
            self._memory_left = memory_left()
        return self._memory_left

    def tell_room(self, room: int, memory: int) -> None:
        """Tells executors how large a new file in shared memory may be."""
        if room != self._told_room:
            self._told_room = room
            self._store.tell_room(room, memory)

    def allow_spares(self, on_disk: int, in_memory: int) -> None:
        """This many bytes may be kept in spare files; what is more is deleted soon."""
        if self._store.allow_spares(on_disk, in_memory):
            self._deleter.trim_spares()

    def close(self) -> None:
        """Begins nothing more."""
        for work in self._in_threads():
            work.close()

    def join(self) -> None:
        """Blocks until no thread works on files; call it after `close`."""
        for work in self._in_threads():
            work.join()

    def _in_threads(self) -> list[CacheWork | Mover | Deleter]:
        return [one for one in (self._caches, self._mover, self._deleter) if one is not None]

    def _get_far(self) -> FarStore:
        if self._far is None:
            raise InvariantError("an object is far, and there is no far store")
        return self._far

    def _get_mover(self) -> Mover:
        if self._mover is None:
            from rain.governor.storage.moving import Mover  # noqa: PLC0415 # mostly all has room in memory

            self._mover = Mover(self._store, self._background, self._tell)
        return self._mover

    def _get_caches(self) -> CacheWork:
        if self._caches is None:
            from rain.governor.storage.cache_work import CacheWork  # noqa: PLC0415 # few governors need it

            limit = self._cache_limit
            self._caches = CacheWork(self._store, self._background, self._tell, self._log, limit)
        return self._caches
