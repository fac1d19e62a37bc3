"""The kinds of tasks that fit on no governor, and when their tasks are given up (`feasibility`)."""

from __future__ import annotations

from collections import deque
from math import inf

from attrs import Factory, define

from rain.base.ids import KindId
from rain.graph import Session, Task


@define(eq=False)
class Infeasible:
    """The clocks of such kinds. That of a kind which was given up stands at infinity."""

    deadlines: dict[tuple[Session, KindId], float] = Factory(dict)
    hopeless: deque[Task] = Factory(deque)  # tasks of those kinds that are to be given up

    def __bool__(self) -> bool:
        return bool(self.deadlines or self.hopeless)

    def due(self, now: float) -> float:
        """When the next grace time ends or more tasks must be given up."""
        return now if self.hopeless else min(self.deadlines.values(), default=inf)

    def deadline(self, session: Session, kind: KindId) -> float:
        """When the tasks of a kind are given up; infinity if they will not be, or are already."""
        return self.deadlines.get((session, kind), inf)

    def expire(self, now: float) -> None:
        """Clocks that have run down stop: the tasks of their kinds are hopeless."""
        for key, deadline in self.deadlines.items():
            if now >= deadline:
                self.deadlines[key] = inf
                session, kind = key
                self.hopeless += [
                    task
                    for task in session.tasks.values()
                    if task.kind.id == kind and not task.is_done
                ]

    def take_hopeless(self, most: int) -> list[Task]:
        """The next ones that are to be given up."""
        return [self.hopeless.popleft() for _ in range(min(len(self.hopeless), most))]

    def forget(self, session: Session) -> None:
        """The session has ended or failed."""
        for key in [key for key in self.deadlines if key[0] is session]:
            del self.deadlines[key]
