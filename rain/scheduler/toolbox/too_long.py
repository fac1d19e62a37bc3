"""Sets aside tasks for which no governor has enough time left, until one has.

In the meantime they take no part in planning, so that tasks behind them need not wait. Governors
with more time may join, and the estimates may change. So each run checks one task for all tasks
that are alike. A task that has run before may take longer than others of its kind, and is checked
separately.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from rain.base.ids import KindId, TaskId
from rain.graph import Governor, Session, Task
from rain.graph.rules import suits
from rain.scheduler.toolbox.waiting_list import needs_plan

Alike = tuple[Session, KindId, TaskId | None]


class TooLong:
    """The tasks, by what they have in common. No entry is empty."""

    def __init__(self) -> None:
        self._waiting: dict[Alike, deque[Task]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, task: Task) -> None:
        """Adds a task that can be planned nowhere now."""
        alone = None if task.run is None else task.id
        self._waiting.setdefault((task.session, task.kind.id, alone), deque()).append(task)

    def take(self, governors: Collection[Governor]) -> list[Task]:
        """Takes the tasks for which there is a governor by now."""
        taken: list[Task] = []
        for key, tasks in list(self._waiting.items()):
            while tasks and not needs_plan(tasks[0]):
                tasks.popleft()
            if tasks and not any(suits(tasks[0], governor) for governor in governors):
                continue
            taken += [task for task in tasks if needs_plan(task)]
            del self._waiting[key]
        return taken

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        ended = frozenset(session.id for session in sessions)
        self._waiting = {key: one for key, one in self._waiting.items() if key[0].id not in ended}
