"""A common scale of priorities on which sessions get equal shares of the cpus.

Each session has a place on the scale, which is the priority of its next task. Each planned task
moves the place back by the task's share of all cpu time. A session that is new or was idle starts
at the place of the task that starts next: so its single task waits only for running tasks, not for
all tasks that others have submitted before. Two sessions with many tasks alternate.

Where several users work, the steps of their sessions differ (`paces`).

This is start-time fair queueing: places count planned work, not seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from attrs import define

from rain.base.states import TaskRow
from rain.graph import Governor, Session
from rain.scheduler.api import MOST
from rain.scheduler.toolbox.paces import Paces

LEAD = 1000.0
"""Milliseconds by which tasks that consume data go before those that make new data."""


@define(eq=False)
class Share:
    """The priorities of the next tasks of a session."""

    ready: float = inf
    missing: float = inf  # of tasks that wait for inputs, which are counted separately
    pace: float = 1.0  # how far it moves back for work that takes all cpus for a millisecond


class Shares:
    """The places of all sessions."""

    def __init__(self, paces: Paces | None = None) -> None:
        self._paces = Paces() if paces is None else paces
        self._shares: dict[Session, Share] = {}
        self.last = inf  # the last place so far; set by the user of places
        self._first = inf  # the place of a new session
        self._crowded = False  # whether tasks wait for cpus

    def begin_run(self, governors: Iterable[Governor], now: float) -> None:
        """Sets the place of new sessions just before all tasks that wait for cpus."""
        best = max(map(_best_waiting, governors), default=-inf)
        self._crowded = best > -inf
        if self._crowded:
            self._first = best + 1.0
        else:
            self._first = -1000.0 * now if self.last == inf else self.last

    def of(self, session: Session) -> Share:
        """The place of a session."""
        share = self._shares.get(session)
        if share is None:
            share = self._shares[session] = Share()
        share.ready = min(share.ready, self._first)
        share.missing = min(share.missing, LEAD + self._first)
        share.pace = self._paces.of(session)
        return share

    def passes(self, session: Session) -> bool:
        """Whether its next task will start before those that now wait at the governors."""
        share = self._shares.get(session)
        return self._crowded and (share is None or share.ready >= self._first)

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self._shares.pop(session, None)


def _best_waiting(governor: Governor) -> float:
    """The priority of the next task to start there; minus infinity if none waits.

    Tasks that go before all others (`MOST`) have no place on the scale.
    """
    if governor.active_cpus <= governor.cpus:
        return -inf
    for task in governor.assigned:  # in the order of assignment
        if task.row is TaskRow.ASSIGNED and task.priority < MOST:
            return task.priority
    waiting = governor.queue.best_priority()
    return -inf if waiting is None or waiting == MOST else waiting
