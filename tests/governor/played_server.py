"""What a server knows of its governor, played: what it has ordered, and what it was told."""

from collections import Counter

from rain.base.ids import KindId, TaskId, session_of
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.orders import Orders
from rain.base.wire.update import TaskFailure, Update
from tests.governor.words import PLAIN, kind_id


class PlayedServer:
    """Notices what must never be told: the end of what has ended, or was stopped.

    The end of what was cancelled is told once, and in no other way.
    """

    def __init__(self) -> None:
        self.told_kinds: set[KindId] = set()
        self.orders: Counter[TaskId] = Counter()
        self.assigned: dict[TaskId, int] = {}
        self.blocked: set[TaskId] = set()
        self.cancelled: Counter[tuple[TaskId, int]] = Counter()  # runs whose ends are not told yet
        self.asked: set[TaskId] = set()
        self.begun: set[TaskId] = set()  # those whose last run an executor has begun
        self.updates: list[Update] = []
        self.finished: dict[TaskId, list[bytes]] = {}
        self.failed: dict[TaskId, TaskFailure] = {}

    def note(self, orders: Orders) -> None:
        """What is ordered."""
        for session in orders.forget_sessions:
            self.assigned = {t: a for t, a in self.assigned.items() if session_of(t) != session}
            self.blocked = {t for t in self.blocked if session_of(t) != session}
            self.told_kinds = {k for k in self.told_kinds if session_of(k) != session}
        for stopped, run in zip(orders.stop_ids, orders.stop_runs, strict=True):
            if self.assigned.get(stopped) == run:
                self.blocked.discard(stopped)
                del self.assigned[stopped]
        for cancelled, run in zip(orders.cancelled.ids, orders.cancelled.runs, strict=True):
            if self.assigned.get(cancelled) == run:
                self.blocked.discard(cancelled)
                del self.assigned[cancelled]
                self.cancelled[cancelled, run] += 1
        for asked, run in zip(orders.asked.ids, orders.asked.runs, strict=True):
            if self.assigned.get(asked) == run:
                self.asked.add(asked)
        for assigned, run in zip(orders.tasks.ids, orders.tasks.runs, strict=True):
            self.assigned[assigned] = run
            self.orders[assigned] += 1
            self.asked.discard(assigned)
            self.begun.discard(assigned)
            self.finished.pop(assigned, None)
            self.failed.pop(assigned, None)

    def kinds(self, orders: Orders, kind: TaskKind) -> None:
        """Adds what the governor does not know yet to the orders."""
        session = session_of(kind.id)
        for number in dict.fromkeys((kind_id(PLAIN, session), *kind.outputs)):
            if number not in self.told_kinds:
                self.told_kinds.add(number)
                orders.object_kinds.append(ObjectKind(number))
        if kind.id not in self.told_kinds:
            self.told_kinds.add(kind.id)
            orders.task_kinds.append(kind)

    def hear(self, update: Update) -> None:
        """What the governor tells."""
        self.updates.append(update)
        for task, run in zip(update.resumed_ids, update.resumed_runs, strict=True):
            if self.assigned.get(task) == run:
                assert task in self.blocked, "it goes on, and was not blocked"
            self.blocked.discard(task)
        for task, run in zip(update.blocked_ids, update.blocked_runs, strict=True):
            if self.assigned.get(task) == run:
                assert task not in self.blocked, "it is blocked twice"
                self.blocked.add(task)
        outputs = iter(update.finished.data)
        for task, run, count in zip(
            update.finished.ids,
            update.finished.runs,
            update.finished.output_counts,
            strict=True,
        ):
            assert self.assigned.pop(task) == run, "a run has ended twice, or was stopped"
            assert task not in self.blocked, "it has finished while it was blocked"
            self.finished[task] = [next(outputs) for _ in range(count)]
        for failure in update.failed:
            self.blocked.discard(failure.task)
            assert self.assigned.pop(failure.task) == failure.run
            self.failed[failure.task] = failure
        for task, run in zip(update.ended_ids, update.ended_runs, strict=True):
            self.cancelled[task, run] -= 1
            assert self.cancelled[task, run] == 0, "it was not cancelled, or has ended twice"
        for task, run in zip(update.started_ids, update.started_runs, strict=True):
            if self.assigned.get(task) == run:
                self.asked.discard(task)
        for task, run in zip(update.returned_ids, update.returned_runs, strict=True):
            assert task in self.asked, "it was not asked for"
            assert task not in self.begun, "it has begun"
            assert self.assigned.pop(task) == run, "it has ended, or was stopped"
            self.asked.discard(task)
