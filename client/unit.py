"""The class `Unit`: a chain of tasks that was submitted as one task (see `rain.client.fusing`).

The server knows only the last task of a unit, which stands for all of them.
"""

from collections.abc import Sequence
from itertools import groupby

from attrs import Factory, frozen

from rain.base.ids import TaskId, unpack
from rain.base.units import failed_task
from rain.client.rpc.common import TaskState
from rain.common.errors import RainException

LONGEST_NAME = 80


@frozen(eq=False)
class Unit:
    """The tasks of one unit in the order in which they run; their handles refer to it."""

    name: str
    members: tuple[TaskId, ...]
    # Those members that the user has handles of.
    handles: set[TaskId] = Factory(lambda unit: set(unit.members), takes_self=True)

    @property
    def task_id(self) -> TaskId:
        """The task that the server knows: the last one."""
        return self.members[-1]

    def place(self, packed_id: int) -> int:
        """The place of one of its tasks; the first is 1."""
        return self.members.index(TaskId(packed_id)) + 1

    def failed_member(self, message: str) -> TaskId | None:
        """The task that has failed; None if the message names none, or another unit."""
        task = failed_task(message)
        return task if task in self.members else None

    def state_after(self, message: str, packed_id: int, others: TaskState) -> TaskState:
        """The state of one of its tasks after a failure; tasks that never ran are in `others`.

        If it is not known which task has failed, all have.
        """
        culprit = self.failed_member(message)
        if culprit is None or culprit == packed_id:
            return TaskState.failed
        return TaskState.finished if self.place(packed_id) < self.place(culprit) else others

    def disappeared(self, what: object) -> RainException:
        """The message that an object inside of the unit cannot be fetched, and why."""
        return RainException(
            f"{what!r} has disappeared inside the unit {self.name!r} (task"
            f" {unpack(self.task_id)}): what is to be read from outside must be kept, by keep()"
            " before submit()"
        )


def unit_name(names: Sequence[str]) -> str:
    """A short name for people, made of the tasks inside: "load + scale x 3 + total"."""
    runs: list[str] = []
    for name, same in groupby(names):
        count = sum(1 for _ in same)
        runs.append(name if count == 1 else f"{name} x {count}")
    whole = " + ".join(runs)
    if len(whole) <= LONGEST_NAME:
        return whole
    first, last = runs[0], runs[-1]
    longest = LONGEST_NAME // 2 - 15
    return f"{_cut(first, longest)} + ... + {_cut(last, longest)} ({len(names)} tasks)"


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 3]}..."
