"""Moves inputs of waiting tasks to the far store when nothing else makes room. No I/O.

The disk may be full of data that waiting tasks will read: each has some of its inputs here, and no
room for the others. Then no task ends, and there are no idle objects that could leave. So one task
is chosen that needs only room. Until it starts, only its inputs are fetched, and inputs of other
tasks leave until it has enough room: first the ones that are needed last. Each choice ends with the
start of a task, so the same data does not move back and forth forever.

A task can be chosen if its inputs and what it makes fit together. If there is none, the tasks that
wait for room are handed back in the end (see `back_pressure`), as without a far store.
"""

from __future__ import annotations

from collections.abc import Iterator

from rain.base.ids import SessionId
from rain.governor.core.back_pressure import BackPressure, bytes_read
from rain.governor.core.fetch_queue import is_fetchable
from rain.governor.core.nodes import LAST_RANK, DataObject, Rank, Session, Task
from rain.governor.core.objects import Objects
from rain.governor.core.offloading import AT_ONCE, Pinned
from rain.governor.core.tables import ObjectRow, TaskMove, TaskRow

Readers = dict[DataObject, list[Task]]
"""The tasks that read each object, as often as they name it."""

_WAITS = (TaskRow.WAITING, TaskRow.HELD_BACK)
_MAY_START = (*_WAITS, TaskRow.READY, TaskRow.ASKING)


class MakingWay:
    """Chooses a task, and makes room for it."""

    def __init__(
        self, sessions: dict[SessionId, Session], objects: Objects, back_pressure: BackPressure
    ) -> None:
        self._sessions = sessions
        self._objects = objects
        self._back_pressure = back_pressure

    def make_way(self, now: float, pinned: Pinned) -> None:
        """Called after everything that can start was started: makes room if nothing else will."""
        fetches, back_pressure = self._objects.fetches, self._back_pressure
        if fetches.chosen is not None and not _is_still_to_start(fetches.chosen):
            fetches.chosen = None
            self._objects.start_fetches()
        if (
            back_pressure.is_stuck
            and self._objects.files.disk.spills
            and self._objects.offloading.is_willing(now)
            and self._make_room(pinned)
        ):
            back_pressure.goes_on()
            self._objects.start_fetches()

    def _make_room(self, pinned: Pinned) -> bool:
        """Returns whether there will be more room, or another task was chosen."""
        fetches, disk = self._objects.fetches, self._objects.files.disk
        before = fetches.chosen
        task = fetches.chosen = before or self._choice()
        if task is None:
            return False
        surplus = disk.used + sum(_missing(task).values()) + max(task.kind.makes, 0) - disk.limit
        begun = 0
        readers = self._readers()
        for target in self._leaving(task, readers, pinned()):
            if surplus <= 0 or begun == AT_ONCE:
                break
            if target.far:
                self._put_away(target, readers.get(target, []))
            else:
                self._objects.offloading.send(target)
            surplus -= target.size
            begun += 1
        return begun > 0 or task is not before

    def _choice(self) -> Task | None:
        """The most urgent task that needs nothing but room; those that only make data come last."""
        limit = self._objects.files.disk.limit
        readers, roots = self._back_pressure.next_held()
        waiting = [task for task in self._tasks() if _needs_only_room(task)]
        for some in (waiting + readers, roots):
            fitting = [task for task in some if _needs(task) <= limit]
            if fitting:
                return min(fitting, key=_rank)
        return None

    def _leaving(self, chosen: Task, readers: Readers, pinned: set[int]) -> Iterator[DataObject]:
        """The objects that may leave: those without readers first, then those read last."""
        found: list[tuple[Rank, DataObject]] = []
        for target in self._objects.offloading.candidates():
            of_target = readers.get(target, [])
            if (
                target.content not in pinned
                and target not in chosen.inputs
                and all(task.row in _WAITS for task in of_target)
            ):
                found.append((min(map(_rank, of_target), default=LAST_RANK), target))
        found.sort(key=_first, reverse=True)
        return (target for _, target in found)

    def _put_away(self, target: DataObject, readers: list[Task]) -> None:
        """The copy in the far store takes the place of the file; its readers wait for it again."""
        self._objects.offloading.leave(target)
        if not readers:
            return
        for task in readers:
            task.missing += 1
            if task.row is TaskRow.HELD_BACK:
                self._back_pressure.leave(task)
                task.move(TaskMove.LOSE_INPUT)
        target.waiting = list(readers)
        self._objects.recall(target)

    def _tasks(self) -> Iterator[Task]:
        for session in self._sessions.values():
            yield from session.tasks.values()

    def _readers(self) -> Readers:
        readers: Readers = {}
        for task in self._tasks():
            for target in task.inputs:
                readers.setdefault(target, []).append(task)
        return readers


def _is_still_to_start(task: Task) -> bool:
    return task.row in _MAY_START and task.session.tasks.get(task.id) is task


def _needs_only_room(task: Task) -> bool:
    """Whether the task waits only for inputs that can be fetched."""
    return task.row is TaskRow.WAITING and all(
        target.row is ObjectRow.HELD or is_fetchable(target) for target in task.inputs
    )


def _missing(task: Task) -> dict[DataObject, int]:
    """The bytes of its inputs that are not here."""
    return {target: target.size for target in task.inputs if target.row is not ObjectRow.HELD}


def _needs(task: Task) -> int:
    """The bytes of its inputs in files, and of what it makes."""
    return bytes_read(task) + max(task.kind.makes, 0)


def _rank(task: Task) -> Rank:
    return task.rank


def _first(pair: tuple[Rank, DataObject]) -> Rank:
    return pair[0]
