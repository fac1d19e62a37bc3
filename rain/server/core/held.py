"""Tasks that former runs of a task have submitted, held for its next run (`adopting.py`)."""

from __future__ import annotations

from collections import deque

from attrs import Factory, define

from rain.base.ids import ObjectId
from rain.base.states import ObjectState
from rain.graph import DataObject, Task
from rain.graph.run import Run

Key = bytes

_TO_BE_HAD = (ObjectState.UNFINISHED, ObjectState.FINISHED)


def is_there(task: Task) -> bool:
    """Whether the task has made all its outputs, or will make them."""
    return task.is_known and all(made.state in _TO_BE_HAD for made in task.outputs)


@define(eq=False)
class Held:
    """The tasks that former runs have submitted, and those of the present run that stand in."""

    by_key: dict[Key, deque[Task]] = Factory(dict)
    ended: dict[Key, deque[Run]] = Factory(dict)  # of finished tasks that had no outputs
    objects: list[DataObject] = Factory(list)  # all that was ever held, to be let go at the end
    own: dict[Task, Key] = Factory(dict)  # of those that stand in: what they were submitted as
    made: dict[ObjectId, Key] = Factory(dict)  # what is read and made now

    def take_ended(self, key: Key) -> Run | None:
        """The run of the next one of this key that has finished, and had no outputs."""
        runs = self.ended.get(key)
        return runs.popleft() if runs else None

    def take(self, key: Key) -> Task | None:
        """The next one of this key that can be had, which is not given out again."""
        found = self.by_key.get(key)
        while found:
            task = found.popleft()
            if is_there(task):
                return task
        return None
