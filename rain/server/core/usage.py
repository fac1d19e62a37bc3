"""Counts how much each user has used.

Finished tasks are counted when their durations are learned, after the effects of a turn were sent.
Stored bytes are counted about once a second. The counts are part of the state, so a restarted
server has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy

from attrs import Factory, define

from rain.base.kinds import TaskKind
from rain.base.usage import DAY, Used
from rain.graph import Graph, Session

MOST_ROWS = 10_000
"""Days of users that are remembered; the earliest one is forgotten first."""

EVERY = 1.0
"""Seconds between two looks at what is stored."""


@define(eq=False)
class Usage:
    """What each user has used on each day; what a session has used is noted there."""

    used: dict[tuple[str, int], Used] = Factory(dict)  # of each user on each day
    stored_since: float = 0.0  # until when what is stored counts in these

    def note(
        self,
        graph: Graph,
        session: Session,
        kind: TaskKind,
        seconds: Sequence[float],
        made: int,
        now: float,
    ) -> None:
        """Tasks of a kind have finished, and have made that many bytes."""
        cpus = kind.resources.cpus
        _root_of(graph, session).used.note(cpus, seconds, made)
        self._on_day(session.belongs_to, int(now // DAY)).note(cpus, seconds, made)

    def note_stored(self, graph: Graph, now: float) -> None:
        """Counts stored data from the last time until now, before any of it changes.

        Data that comes and goes within `EVERY` counts for all of that time, or not at all.
        """
        seconds = self.not_counted(now)
        for session in graph.sessions.values():
            _root_of(graph, session).used.byte_seconds += session.stored * seconds
        for user, day, byte_seconds in self._stored_by_day(graph, now):
            self._on_day(user, day).byte_seconds += byte_seconds
        self.stored_since = now

    def by_day(self, graph: Graph, now: float) -> dict[tuple[str, int], Used]:
        """The usage of each user on each day until now, between two turns."""
        found = {key: copy(used) for key, used in self.used.items()}
        for user, day, byte_seconds in self._stored_by_day(graph, now):
            found.setdefault((user, day), Used()).byte_seconds += byte_seconds
        return found

    def not_counted(self, now: float) -> float:
        """The seconds for which what is stored does not count yet."""
        return max(now - self.stored_since, 0.0) if self.stored_since else 0.0

    def _stored_by_day(self, graph: Graph, now: float) -> Iterator[tuple[str, int, float]]:
        """The byte-seconds that do not count yet, of each user and each day."""
        by_user: Counter[str] = Counter()
        for session in graph.sessions.values():
            if session.stored:
                by_user[session.belongs_to] += session.stored
        since = now - self.not_counted(now)
        while by_user and since < now:
            day = int(since // DAY)
            until = min((day + 1) * DAY, now)
            for user, stored in by_user.items():
                yield user, day, stored * (until - since)
            since = until

    def _on_day(self, user: str, day: int) -> Used:
        used = self.used.get((user, day))
        if used is None:
            used = self.used[user, day] = Used()
            if len(self.used) > MOST_ROWS:
                del self.used[next(iter(self.used))]
        return used


def _root_of(graph: Graph, session: Session) -> Session:
    return graph.sessions.get(session.root, session)
