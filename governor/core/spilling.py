"""Makes room in shared memory: starts moving files to the disk, and handles the results."""

from __future__ import annotations

from collections.abc import Iterable

from rain.governor.core.dispatch import Dispatch
from rain.governor.core.effects import CopyToDisk, DropCopy, LeaveMemory
from rain.governor.core.events import CopyMade
from rain.governor.core.nodes import DataObject
from rain.governor.core.objects import Objects
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.results import Made, Outputs, Stored
from rain.governor.core.tiers import is_shared


class Spilling:
    """Decides which objects leave shared memory, and when."""

    def __init__(self, outbox: Outbox, objects: Objects, pool: Pool, dispatch: Dispatch) -> None:
        self._outbox = outbox
        self._objects = objects
        self._pool = pool
        self._dispatch = dispatch
        self._tiers = objects.files.tiers

    def spill(self, memory: float, now: float) -> None:
        """The machine has `memory` bytes left. Too much lies in shared memory: what lingers is
        removed, and some files leave."""
        tiers = self._tiers
        tiers.set_available(memory)
        if not tiers.is_over():
            return
        for target in list(self._objects.lingering.times):
            if not tiers.is_over():
                return
            if is_shared(target.content):
                self._objects.forget(target)
        if tiers.is_over():
            for file in tiers.leaving(self.pinned(), now):
                self._outbox.effects.append(CopyToDisk(file))

    def copied(self, event: CopyMade, now: float) -> None:
        """A file was copied to the disk, or could not be."""
        if event.reason:
            self._tiers.failed(event.file, now)
        elif self._tiers.complete(event.file, self.pinned()):
            self._objects.files.on_disk.add(event.file)
            self._objects.files.spares.deleted()
            self._outbox.effects.append(LeaveMemory(event.file))
        else:
            self._outbox.effects.append(DropCopy(event.file))

    def pinned(self) -> set[int]:
        """The files of running tasks, which know their paths."""
        caching = self._objects.caching
        pinned: set[int] = set()
        for executor in self._pool.busy.values():
            for task in executor.calls:
                pinned.update(_files(task.inputs))
        for task in self._dispatch.runs.values():
            pinned.update(_files(task.inputs))
        for task in caching.asked.values():
            pinned.update(_files(task.inputs))
        for kept in caching.keeping.values():
            pinned.update(_files(kept.task.inputs), _made(kept.outputs))
        return pinned


def _files(objects: Iterable[DataObject]) -> Iterable[int]:
    return (target.content for target in objects if isinstance(target.content, int))


def _made(outputs: Outputs) -> Iterable[int]:
    return (
        output.content.file
        for output in outputs
        if isinstance(output, Made) and isinstance(output.content, Stored)
    )
