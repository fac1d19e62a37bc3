"""Reports how the cpus are shared among users now, and whose tasks are next; computed on request.

Schedulers do not publish the order of sessions (`Shares`, `UserShares`), but they share cpus by
weight. So the user who has the smallest part of their share is next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from attrs import frozen

from rain.base.states import TaskRow
from rain.base.users import rule_of
from rain.server.core.state import State


@frozen
class TurnsOfUsers:
    """The cpus and weights of users with work."""

    cpus: int  # of the cluster
    used: Counter[str]  # cpus of running tasks
    weights: Mapping[str, float]  # of those with work
    waiting: frozenset[str]  # those with tasks that do not run

    @staticmethod
    def of(state: State) -> TurnsOfUsers:
        """Computes this from all running tasks."""
        graph = state.graph
        used: Counter[str] = Counter()
        runs: Counter[str] = Counter()
        for governor in graph.governors.values():
            for task in governor.assigned:
                if task.row is TaskRow.RUNNING:
                    used[task.session.belongs_to] += task.cpus
                    runs[task.session.belongs_to] += 1
        unfinished: Counter[str] = Counter()
        for session in graph.sessions.values():
            unfinished[session.belongs_to] += session.unfinished
        weights = {
            user: rule_of(graph.users, user).weight for user, count in unfinished.items() if count
        }
        return TurnsOfUsers(
            sum(governor.cpus for governor in graph.governors.values()),
            used,
            weights,
            frozenset(user for user in weights if unfinished[user] > runs[user]),
        )

    def why(self, user: str) -> str:
        """Why tasks of a user wait for cpus; "" if that is not for the sake of other users."""
        if user not in self.waiting or len(self.weights) < 2 or self.used.total() < self.cpus:
            return ""
        weight, weights = self.weights[user], sum(self.weights.values())
        first = min(self.waiting, key=self._used_of_share)
        goes = self._used_of_share(user) <= self._used_of_share(first)
        return (
            f"all cpus are taken, {self.used[user]} of {self.cpus} by tasks of this user, whose"
            f" share is {self.cpus * weight / weights:.3g} (weight {weight:g} of {weights:g}):"
            f" {'this user goes next' if goes else 'others go first'}"
        )

    def _used_of_share(self, user: str) -> float:
        return self.used[user] / self.weights[user]
