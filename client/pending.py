"""The tasks and data objects of a session that were not submitted yet.

Several threads may add while one takes: each addition is one append, and a take leaves what
came after its look.
"""

from collections.abc import Sequence

from rain.base.wire import INLINE_LIMIT
from rain.client.data import DataObject
from rain.client.submission import Batch
from rain.client.task import Task


class Pending:
    """What the next submit will take with it."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self._objects: list[DataObject] = []  # those that no task has made by itself
        # What is inside of tasks and constants, from before they are added until they are sent.
        self.contents: dict[int, Sequence[DataObject]] = {}
        self.add_task = self.tasks.append
        self.add_tasks = self.tasks.extend  # which no other thread divides
        self.add_object = self._objects.append

    def objects(self) -> list[DataObject]:
        """Constants and outputs; an output that the user made himself is both, and is one."""
        found = {obj.packed_id: obj for obj in self._objects}
        for task in self.tasks:
            found.update((obj.packed_id, obj) for obj in task.output_objects)
        return list(found.values())

    def has_uploads(self) -> bool:
        """Whether something is so large that it goes ahead of the submit."""
        return any(len(obj.constant or b"") > INLINE_LIMIT for obj in self._objects[:])

    def take(self) -> Batch:
        """Everything that is here now."""
        # An object is added before the tasks that read it: what the first look finds is complete.
        tasks = self.tasks[:]
        del self.tasks[: len(tasks)]
        objects = self._objects[:]
        if objects:  # as for few single tasks
            del self._objects[: len(objects)]
        contents: dict[int, Sequence[DataObject]] = {}
        if self.contents:
            added: tuple[Task | DataObject, ...] = (*tasks, *objects)
            for one in added:
                inside = self.contents.pop(one.packed_id, None)
                if inside is not None:
                    contents[one.packed_id] = inside
        return Batch(tasks, objects, contents)

    def put_back(self, batch: Batch) -> None:
        """What was refused waits for the next submit, before what came meanwhile."""
        self.tasks[:0] = batch.tasks
        self._objects[:0] = batch.objects
        self.contents.update(batch.contents)

    def clear(self) -> None:
        self.tasks.clear()
        self._objects.clear()
        self.contents.clear()
