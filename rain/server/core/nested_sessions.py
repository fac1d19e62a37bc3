"""The sessions that tasks have opened (`nesting`), and what is held of those that have ended
(`adopting`).
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import Factory, define

from rain.graph import Session, Task
from rain.server.core.held import Held


@define(eq=False)
class NestedSessions:
    """Each ends with the run that has opened it, or goes on without one."""

    of_runs: dict[Session, int] = Factory(dict)  # and the number of the run
    set_free: dict[Session, None] = Factory(dict)  # of tasks that were cancelled alone
    held: dict[Task, Held] = Factory(dict)  # for tasks that are tried again
    nests: bool = False  # a running task has opened or joined a session at least once

    def __bool__(self) -> bool:
        """Whether any of it may be over."""
        return bool(self.of_runs or self.set_free or self.held)

    def open(self, session: Session, parent: Task) -> None:
        """The session will end with the open run of this task."""
        self.of_runs[session] = parent.last_run().number
        self.nests = True

    def close(self, session: Session) -> None:
        """The session has ended, or was left."""
        self.of_runs.pop(session, None)
        self.set_free.pop(session, None)

    def over(self) -> list[Session]:
        """Those whose runs have ended."""
        return [session for session, run in self.of_runs.items() if not _runs(session, run)]

    def let_go_on(self, parents: Iterable[Task]) -> None:
        """These tasks were cancelled, and the tasks that they have submitted shall go on."""
        chosen = set(parents)
        for session in [session for session in self.of_runs if session.parent in chosen]:
            del self.of_runs[session]
            self.set_free[session] = None


def _runs(session: Session, number: int) -> bool:
    parent = session.parent
    assert parent is not None
    run = parent.run
    if not parent.is_known or parent.is_done or run is None:
        return False
    return run.number == number and run.is_open
