"""The rules of the checker for files: in shared memory, on the disk, and in the far store."""

from __future__ import annotations

from collections.abc import Iterator

from rain.governor.core.nodes import DataObject, Task
from rain.governor.core.objects import FAR, is_far
from rain.governor.core.shared_files import SharedFiles
from rain.governor.core.state import State
from rain.governor.core.tables import ObjectRow, TaskRow
from rain.governor.core.tiers import is_shared


def tier_contradictions(files: SharedFiles, known: list[DataObject]) -> Iterator[str]:
    """Recounts what lies in shared memory from the objects that are here."""
    tiers, on_disk = files.tiers, files.on_disk
    objects: dict[int, list[DataObject]] = {}
    for target in known:
        if isinstance(target.content, int) and is_shared(target.content):
            objects.setdefault(target.content, []).append(target)
    if not on_disk <= set(objects):
        yield f"files that have left shared memory are noted for nobody: {on_disk - set(objects)}"
    if set(tiers.files) != set(objects) - on_disk:
        yield f"in shared memory are {set(objects) - on_disk}, not {set(tiers.files)}"
    for file, held in tiers.files.items():
        if {id(one) for one in held.objects} != {id(one) for one in objects.get(file, ())}:
            yield f"the file {file} belongs to {objects.get(file)}, not to {held.objects}"
    if tiers.used != sum(held.size for held in tiers.files.values()):
        yield f"{tiers.used} bytes in shared memory are not those of its files"
    if tiers.copied_bytes != sum(tiers.copied.values()):
        yield f"{tiers.copied_bytes} bytes are not those of the files that are being copied"
    if set(tiers.copied) & on_disk:
        yield "a file is copied that has left shared memory"


def disk_contradictions(state: State, known: list[DataObject]) -> Iterator[str]:
    """Recounts the files of all objects, each once."""
    disk = state.objects.files.disk
    files = {target.content for target in known if isinstance(target.content, int)}
    if set(disk.sizes) != files | disk.going:
        yield f"the files {set(disk.sizes)} are counted, and there are {files | disk.going}"
    if disk.going & files:
        yield f"the files {disk.going & files} are going, and objects have them"
    if disk.used != sum(disk.sizes.values()):
        yield f"{disk.used} bytes are not those of the files"


def held_back_contradictions(state: State) -> Iterator[str]:
    """Checks that tasks that are held back are listed, and only where files are counted."""
    back_pressure = state.back_pressure
    held = {task for task in _tasks(state) if task.row is TaskRow.HELD_BACK}
    if held != set(back_pressure.held):
        yield f"{held} are held back, and {set(back_pressure.held)} are listed"
    if held and not state.objects.files.disk.budget:
        yield "tasks are held back, and nobody counts what is on the disk"
    chosen = state.objects.fetches.chosen
    if chosen is not None and (
        chosen.session.tasks.get(chosen.id) is not chosen or chosen.executor or chosen.run
    ):
        yield f"room is made for {chosen!r}, which is not still to start"


def far_contradictions(state: State, known: list[DataObject]) -> Iterator[str]:
    """An object in the far store is there once, and no task here waits for it."""
    numbers = [target.far for target in known if target.far]
    if len(set(numbers)) != len(numbers):
        yield f"two objects have the same file in the far store: {numbers}"
    for target in known:
        if target.row is ObjectRow.FAR and not (target.far and target.wanted):
            yield f"{target!r} has the number {target.far}, and is wanted: {target.wanted}"
        if target.row is ObjectRow.FAR and (target.consumers or target.waiting or target.lent):
            yield f"{target!r} is far, and a task here reads it"
        if is_fetched_from_far(target) and target.source != f"{FAR}{target.far}":
            yield f"{target!r} is fetched from {target.source}, and is at {target.far}"
    if set(numbers) & set(state.objects.offloading.sending):
        yield "a file is said to be in the far store that is on its way"


def is_fetched_from_far(target: DataObject) -> bool:
    """Whether the object is being fetched back from far, or is about to be."""
    return target.row in (ObjectRow.REMOTE, ObjectRow.PULLING) and is_far(target.source)


def _tasks(state: State) -> Iterator[Task]:
    for session in state.sessions.values():
        yield from session.tasks.values()
