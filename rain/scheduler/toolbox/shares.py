"""One scale of priorities for all tasks, on which sessions get equal shares of the cpus.

Each session has a place on the scale. What it plans stands there, and by what that will take of all
cpus its next task stands further back. A session that has had nothing for a while, or is new,
begins with what is next to start: so a single task of it waits for what runs, and not for all that
others have brought before. Of two that bring very much each gets its turn.

This is start-time fair queueing: places count what was planned, and not seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from attrs import define

from rain.base.states import TaskRow
from rain.graph import Governor, Session

LEAD = 1000.0
"""Milliseconds: tasks that use data up go so much before those that make new data."""


@define(eq=False)
class Share:
    """The priorities of the next tasks of a session."""

    ready: float = inf
    missing: float = inf  # of those that wait for inputs, which are counted apart


class Shares:
    """The places of all sessions."""

    def __init__(self) -> None:
        self._shares: dict[Session, Share] = {}
        self.last = inf  # the place that is furthest back so far; set by who uses places up
        self._first = inf  # where a session begins now
        self._crowded = False  # whether there are tasks that wait for cpus

    def look(self, governors: Iterable[Governor], now: float) -> None:
        """A session now begins just before all that waits for cpus."""
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
        return share

    def passes(self, session: Session) -> bool:
        """Whether its next task will start before those that wait at the governors now."""
        share = self._shares.get(session)
        return self._crowded and (share is None or share.ready >= self._first)

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self._shares.pop(session, None)


def _best_waiting(governor: Governor) -> float:
    """The priority of the task that starts next there; minus infinity if none waits."""
    if governor.active_cpus <= governor.cpus:
        return -inf
    for task in governor.assigned:  # in the order in which it was told of them
        if task.row is TaskRow.ASSIGNED:
            return task.priority
    for task in governor.queue:
        return task.priority
    return -inf
