"""Decides which task is planned next: fair between sessions, by urgency within a session.

A task without inputs from other tasks is a root. Roots make new data, and others consume data. A
task that only reads the list of a shuffle is a root, too: it makes new data, and no pieces can be
released after it. While a session has more work than its longest chain, the order does not affect
its end; so non-roots go first, and roots in the order of their first consumers, to keep few objects
alive: two roots that one task reads are made one after the other. Towards the end only urgency
counts, or the last chain would be late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from math import inf

from attrs import Factory, define

from rain.graph import Session, Task
from rain.graph.exchanges import is_exchange
from rain.scheduler.toolbox.levels import mark_of
from rain.scheduler.toolbox.paces import Paces
from rain.scheduler.toolbox.shares import Share

Entry = tuple[float, int, Task]
Listed = tuple[int, float, int, Task]
"""A task by its priority, and then by its urgency or by its first consumer."""


RELAXED = 1.5
"""Roots wait for others while the remaining work takes longer than this many longest chains,"""

SHORT = 1.0
"""or while the longest chain takes fewer seconds than this, or is not known."""

SPREAD = 1000.0
"""The most milliseconds by which urgency moves a task from its session's place on the scale."""


@define(eq=False)
class Account:
    """The account of a session: its listed tasks, and sums of seconds times cpus."""

    number: int
    roots: list[Listed] = Factory(list)
    by_consumers: bool = True  # the order of the roots, else by urgency
    others: list[Listed] = Factory(list)
    left: float = 0.0  # of its unfinished tasks
    longest: float = 0.0  # the largest level so far
    had: float = 0.0  # of its planned tasks

    @property
    def listed(self) -> bool:
        """Whether it has tasks to plan."""
        return bool(self.roots or self.others)

    def is_relaxed(self, cpus: int) -> bool:
        """Whether the order does not affect the end."""
        return self.longest < SHORT or self.left > RELAXED * self.longest * cpus

    def lead(self, cpus: int) -> float:
        """Seconds of urgency by which non-roots go before roots."""
        return self.longest if self.is_relaxed(cpus) else 0.0

    def list_root(self, task: Task) -> None:
        """Adds a root."""
        heappush(self.roots, self._listed_root(task))

    def _listed_root(self, task: Task) -> Listed:
        key = _first_consumer(task) if self.by_consumers else -mark_of(task).urgency
        return -task.kind.priority, key, task.order, task

    def pop(self, cpus: int) -> Task:
        """Takes the most urgent task; roots come after the others while there is time."""
        roots, others = self.roots, self.others
        if roots and self.by_consumers != self.is_relaxed(cpus):
            self.by_consumers = not self.by_consumers
            roots[:] = [self._listed_root(task) for *_, task in roots]
            heapify(roots)
        if roots and (not others or self._root_is_first()):
            return heappop(roots)[3]
        return heappop(others)[3]

    def _root_is_first(self) -> bool:
        root, other = self.roots[0], self.others[0]
        if root[0] != other[0]:
            return root[0] < other[0]
        return not self.by_consumers and root[1] < other[1]


def is_root(task: Task) -> bool:
    """Whether it makes data and lets none go: it reads no output of another task.

    It may read a list of pieces of a shuffle. A task without cpus that collects pieces is no root.
    """
    for found in task.inputs:
        if found.producer is not None and not (is_exchange(found.producer) and task.cpus):
            return False
    return True


def _first_consumer(task: Task) -> float:
    """The order of the first task that reads an output; tasks without readers go last."""
    return min(
        (consumer.order for output in task.outputs for consumer in output.consumers),
        default=inf,
    )


class Accounts:
    """The accounts of all sessions, and the tasks that wait for a time."""

    def __init__(self, paces: Paces | None = None) -> None:
        self._paces = Paces() if paces is None else paces
        self._accounts: dict[Session, Account] = {}
        self.sleeping: list[Entry] = []  # tasks that wait for a time, the earliest first
        self._least = 0.0  # the smallest `had` of all sessions

    def submitted(self, tasks: Iterable[Task]) -> None:
        """Adds new tasks with their marks."""
        accounts = self._accounts
        for task in tasks:
            account = accounts.get(task.session)
            if account is None:
                account = accounts[task.session] = Account(task.session.id)
            mark = mark_of(task)
            account.left += mark.seconds * task.cpus
            account.longest = max(account.longest, mark.level)

    def finished(self, task: Task, seconds: float) -> None:
        """A task has finished."""
        account = self._accounts.get(task.session)
        if account is not None:
            account.left -= seconds * task.cpus

    def planned(self, task: Task, seconds: float) -> None:
        """A task was planned."""
        session = task.session
        self._accounts[session].had += seconds * max(task.cpus, 1) * self._paces.of(session)

    def taken_back(self, task: Task, seconds: float) -> None:
        """A planned task has lost its plan, and will be submitted again."""
        account = self._accounts.get(task.session)
        if account is not None:
            account.had -= seconds * max(task.cpus, 1) * self._paces.of(task.session)
            account.left -= seconds * task.cpus

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self._accounts.pop(session, None)

    def priority(self, task: Task, seconds: float, share: Share, cpus: int) -> int:
        """The priority of a task at its governor, in milliseconds.

        The place of its session on the common scale counts most, then its urgency within it.
        """
        account, mark = self._accounts[task.session], mark_of(task)
        ahead = mark.level - account.longest
        if task.inputs and not is_root(task):
            ahead += account.lead(cpus)
        place = share.ready
        share.ready -= 1000.0 * seconds * task.cpus / cpus * share.pace
        return int(place + SPREAD * ahead / (1.0 + abs(ahead)))

    def list(self, task: Task, urgency: float) -> None:
        """Lists a task that can be planned."""
        account = self._accounts.get(task.session)
        if account is not None:
            if not account.listed:  # an idle session collects no credit
                account.had = max(account.had, self._least)
            if is_root(task):
                account.list_root(task)
            else:
                heappush(account.others, (-task.kind.priority, -urgency, task.order, task))

    def later(self, task: Task, time: float) -> None:
        """Defers a task until that time, unless it is listed again before."""
        heappush(self.sleeping, (time, task.order, task))

    @property
    def listed(self) -> bool:
        """Whether there are tasks to plan."""
        return bool(self._accounts) and any(found.listed for found in self._accounts.values())

    def due(self, now: float) -> Iterator[Task]:
        """Takes the tasks whose time has come."""
        while self.sleeping and self.sleeping[0][0] <= now:
            yield heappop(self.sleeping)[2]

    def take(self, cpus: int) -> Iterator[Task]:
        """Takes tasks, always from the session that has had least so far."""
        turns = [
            (account.had, -account.number, account)  # of equal ones the newest
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
