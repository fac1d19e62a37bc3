"""Computes how fast sessions use up their shares: first by users, then by the sessions of one user.

Work moves a session back by its amount times the pace of the session. A user of weight two moves
half as fast as others, and a user with three sessions at work moves each of them three times as
fast. So users get cpus by their weights, whatever the number of their sessions, and the sessions of
one user get equal shares.
"""

from __future__ import annotations

from collections import Counter
from math import inf

from attrs import Factory, define

from rain.base.users import rule_of
from rain.graph import Graph, Session
from rain.scheduler.api import News

EVERY = 0.1
"""Seconds between two counts of the sessions at work."""


def paces_of(graph: Graph) -> dict[str, float]:
    """The paces of all users with sessions at work, by their names."""
    at_work = Counter(
        session.belongs_to for session in graph.sessions.values() if session.unfinished
    )
    return {user: count / rule_of(graph.users, user).weight for user, count in at_work.items()}


@define(eq=False)
class Paces:
    """The paces of now. In a cluster without users every pace is 1, and nothing is counted."""

    _by_user: dict[str, float] = Factory(dict)
    _counted: float = -inf  # when

    def recount(self, graph: Graph, news: News, now: float) -> None:
        """Counts again when a while has passed, or somebody has begun to work."""
        if not graph.has_users:
            return
        begun = {task.session.belongs_to for task in news.submitted} - self._by_user.keys()
        if begun or now >= self._counted + EVERY:
            self._by_user, self._counted = paces_of(graph), now

    def of(self, session: Session) -> float:
        """How fast a session moves back."""
        return self._by_user.get(session.belongs_to, 1.0) if self._by_user else 1.0
