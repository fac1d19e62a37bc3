"""What the checker asks of files on the disk, and of tasks that wait for room; see `check`."""

from __future__ import annotations

from collections.abc import Iterator

from rain.governor.nodes import DataObject, Task
from rain.governor.state import State
from rain.governor.tables import TaskRow


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


def _tasks(state: State) -> Iterator[Task]:
    for session in state.sessions.values():
        yield from session.tasks.values()
