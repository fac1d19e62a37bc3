"""Which task is planned next: sessions take turns by what they have had, tasks by their urgency.

A task without inputs from other tasks is a root. Roots make new data, and others use data up. As
long as a session has more work than its longest chain is long, the order does not matter for its
end; so the others go first, and few objects are alive at a time. Towards the end urgency alone
decides, or the last chain would be late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from attrs import Factory, define

from rain.graph import Session, Task
from rain.scheduler.toolbox.levels import mark_of
from rain.scheduler.toolbox.shares import Share

Entry = tuple[float, int, Task]

RELAXED = 1.5
"""Roots wait for others while the rest of the work takes longer than so many longest chains,"""

SHORT = 1.0
"""or as long as the longest chain takes fewer seconds, or nothing is known of it."""

SPREAD = 1000.0
"""Milliseconds by which urgency alone puts a task of a session before or behind its place."""


@define(eq=False)
class Account:
    """One session: the tasks that are listed, and sums of seconds times cpus."""

    number: int
    roots: list[Entry] = Factory(list)
    others: list[Entry] = Factory(list)
    left: float = 0.0  # of its unfinished tasks
    longest: float = 0.0  # the largest level that was seen
    had: float = 0.0  # of its tasks that were taken

    @property
    def listed(self) -> bool:
        """Whether it has tasks that could be planned."""
        return bool(self.roots or self.others)

    def lead(self, cpus: int) -> float:
        """Seconds of urgency that tasks which are no roots have ahead of these."""
        relaxed = self.longest < SHORT or self.left > RELAXED * self.longest * cpus
        return self.longest if relaxed else 0.0

    def pop(self, cpus: int) -> Task:
        """The most urgent task, roots after the others while there is time."""
        roots, others = self.roots, self.others
        if roots and (not others or -roots[0][0] > self.lead(cpus) - others[0][0]):
            return heappop(roots)[2]
        return heappop(others)[2]


def is_root(task: Task) -> bool:
    """Whether it reads nothing that another task makes."""
    return not task.inputs or all(found.producer is None for found in task.inputs)


class Accounts:
    """The accounts of all sessions, and the tasks whose time has not come."""

    def __init__(self) -> None:
        self._accounts: dict[Session, Account] = {}
        self.sleeping: list[Entry] = []  # tasks whose time will come, the first one first
        self._least = 0.0  # what the session has had that has had least

    def submitted(self, tasks: Iterable[Task]) -> None:
        """New tasks have come, with their marks."""
        accounts = self._accounts
        for task in tasks:
            account = accounts.get(task.session)
            if account is None:
                account = accounts[task.session] = Account(task.session.id)
            mark = mark_of(task)
            account.left += mark.seconds * task.cpus
            account.longest = max(account.longest, mark.level)

    def finished(self, task: Task, seconds: float) -> None:
        """A task is done."""
        account = self._accounts.get(task.session)
        if account is not None:
            account.left -= seconds * task.cpus

    def planned(self, task: Task, seconds: float) -> None:
        """A task has got its place."""
        self._accounts[task.session].had += seconds * max(task.cpus, 1)

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self._accounts.pop(session, None)

    def priority(self, task: Task, seconds: float, share: Share, cpus: int) -> int:
        """How governors shall order the tasks that they have, in milliseconds.

        Its session's place on the scale of all counts most, and then how urgent it is there.
        """
        account, mark = self._accounts[task.session], mark_of(task)
        ahead = mark.level - account.longest
        if task.inputs and not is_root(task):
            ahead += account.lead(cpus)
        place = share.ready
        share.ready -= 1000.0 * seconds * task.cpus / cpus
        return int(place + SPREAD * ahead / (1.0 + abs(ahead)))

    def list(self, task: Task, urgency: float) -> None:
        """A task could be planned."""
        account = self._accounts.get(task.session)
        if account is not None:
            if not account.listed:  # what it did not use while it had nothing to do is gone
                account.had = max(account.had, self._least)
            heappush(
                account.roots if is_root(task) else account.others, (-urgency, task.order, task)
            )

    def later(self, task: Task, time: float) -> None:
        """A task need not be looked at before that time, unless it is listed anew."""
        heappush(self.sleeping, (time, task.order, task))

    @property
    def listed(self) -> bool:
        """Whether there are tasks that could be planned."""
        return bool(self._accounts) and any(found.listed for found in self._accounts.values())

    def due(self, now: float) -> Iterator[Task]:
        """The tasks whose time has come."""
        while self.sleeping and self.sleeping[0][0] <= now:
            yield heappop(self.sleeping)[2]

    def take(self, cpus: int) -> Iterator[Task]:
        """Task after task; always from the session that has had least so far."""
        turns = [
            (account.had, -account.number, account)  # among equals the newest
            for account in self._accounts.values()
            if account.listed
        ]
        heapify(turns)
        if turns:
            self._least = turns[0][0]
        while turns:
            _, _, account = heappop(turns)
            task = account.pop(cpus)
            yield task
            if account.listed:
                heappush(turns, (account.had, -account.number, account))
