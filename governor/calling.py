"""The calls that executors have in hand: handed out, answered, and taken back.

**Several calls in hand.** A round trip to the governor between two tasks of 20 microseconds would
cost ten times more than the tasks. So an executor gets more calls than one, as many as are expected
to last `QUEUE_AIM` together. The first task of a function always runs alone, since nobody knows how
long it lasts, and nothing waits behind a task that is expected to last longer than `LONGEST_AHEAD`.

**Who runs a call is decided once.** Each call is one token in a pipe from the governor to the
executor. The executor takes a token out before it starts a call; the governor takes calls back by
taking tokens out itself. The kernel gives each token to one of them, whatever the executor is busy
with and even after its death. So a call is never run twice and is never lost, and the governor
knows exactly which calls were started. Answers go through a pipe as well, which survives the
executor.

**Followers** are calls behind those that make their inputs (see `following`).

**Executors of other languages** have no such pipe: they get one call at a time, and what was sent
to one of them was started.
"""

from __future__ import annotations

from rain.base.errors import InvariantError
from rain.governor import following
from rain.governor.gpus import Gpus
from rain.governor.messages import CallExecutor
from rain.governor.nodes import Executor, Task
from rain.governor.outbox import Outbox
from rain.governor.rows import call_row
from rain.governor.tables import TASK_MOVES, TaskMove, TaskRow

QUEUE_AIM = 0.005
LONGEST_AHEAD = 0.01
CALLS_AT_MOST = 500

_CALL = TASK_MOVES[TaskMove.CALL]
_CALLING = TaskRow.CALLING
_STOPPED = TaskRow.STOPPED


class Calls:
    """All calls of a turn leave together, one effect for each executor."""

    def __init__(self, outbox: Outbox, gpus: Gpus) -> None:
        self._outbox = outbox
        self._gpus = gpus
        self._effects: dict[int, CallExecutor] = {}
        # Executors that may have come to another task in this turn, in a fixed order.
        self._touched: dict[int, Executor] = {}

    def touch(self, executor: Executor) -> None:
        """The executor may have come to another task."""
        self._touched[executor.id] = executor

    def call(self, executor: Executor, task: Task) -> None:
        """One more call for an executor."""
        task.row = _CALL.end(task.row, task)
        self._append(executor, task)

    def follow(self, executor: Executor, task: Task) -> None:
        """The task waits for what calls of the executor make: it is called behind them."""
        task.move(TaskMove.FOLLOW)
        self._append(executor, task)

    def _append(self, executor: Executor, task: Task) -> None:
        task.executor = executor
        task.cost = task.meter.mean
        executor.load += task.cost
        executor.calls.append(task)
        effect = self._effects.get(executor.id)
        if effect is None:
            self._touched[executor.id] = executor
            gpus = self._gpus.shown(executor.gpus)
            effect = CallExecutor(executor.id, [], [], [], [], gpus=gpus)
            self._effects[executor.id] = effect
        effect.calls.append(call_row(executor, task, effect))
        following.called(task, executor)

    def send(self) -> None:
        """The end of a turn: the calls leave, and executors have come to others."""
        self._outbox.effects.extend(self._effects.values())
        self._effects.clear()
        for executor in self._touched.values():
            if executor.calls and executor.calls[0].row is _CALLING:
                executor.calls[0].move(TaskMove.START)
        self._touched.clear()

    def return_unstarted(self, executor: Executor, count: int) -> None:
        """So many of the newest calls of an executor will not be started by it."""
        if count > len(executor.calls):
            raise InvariantError(f"{count} unstarted calls of {executor!r}")
        for _ in range(count):
            task = executor.calls.pop()
            task.executor = None
            executor.load -= task.cost
            self.not_run(task)

    def not_run(self, task: Task) -> None:
        """An executor has not run the task that it was given: it waits here again."""
        if task.row is not _STOPPED:
            task.move(TaskMove.TAKE_BACK)
            if not task.missing:
                task.kind.group.push(task)


def accepts(executor: Executor, task: Task) -> bool:
    """Whether the task may wait behind what the executor has in hand."""
    mean = task.meter.mean
    calls = len(executor.calls)
    if mean > LONGEST_AHEAD or executor.load > LONGEST_AHEAD or calls >= CALLS_AT_MOST:
        return False
    return calls == 1 or executor.load + mean <= QUEUE_AIM
