"""What the checker asks of files on the disk, and of tasks that wait for room; see `check`."""

from __future__ import annotations

from collections.abc import Iterator

from rain.governor.nodes import DataObject, Task
from rain.governor.objects import FAR, is_far
from rain.governor.state import State
from rain.governor.tables import ObjectRow, TaskRow


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
    """What is held back is listed, and only where files are counted."""
    back_pressure = state.back_pressure
    held = {task for task in _tasks(state) if task.row is TaskRow.HELD_BACK}
    if held != set(back_pressure.held):
        yield f"{held} are held back, and {set(back_pressure.held)} are listed"
    if held and not state.objects.files.disk.budget:
        yield "tasks are held back, and nobody counts what is on the disk"


def far_contradictions(state: State, known: list[DataObject]) -> Iterator[str]:
    """What is far is there once, and no task here waits for it."""
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
    """Whether it comes back, or is about to."""
    return target.row in (ObjectRow.REMOTE, ObjectRow.PULLING) and is_far(target.source)


def _tasks(state: State) -> Iterator[Task]:
    for session in state.sessions.values():
        yield from session.tasks.values()
