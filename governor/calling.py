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

**A call that comes alone** to an idle executor needs no token: it was started when it was sent,
unless the executor dies with it unread.

**Followers** are calls behind those that make their inputs (see `following`).

**Executors of other languages** have no such pipe: they get one call at a time, and what was sent
to one of them was started.
"""

from __future__ import annotations

from rain.base.errors import InvariantError
from rain.governor.gpus import Gpus
from rain.governor.messages import CallExecutor
from rain.governor.nodes import Executor, Task
from rain.governor.outbox import Outbox
from rain.governor.rows import call_row
from rain.governor.tables import TaskMove, TaskRow

QUEUE_AIM = 0.005
LONGEST_AHEAD = 0.01
CALLS_AT_MOST = 500

_CALLING = TaskRow.CALLING
_CANCELLING = TaskRow.CANCELLING


class Calls:
    """All calls of a turn leave together, one effect for each executor."""

    def __init__(self, outbox: Outbox, gpus: Gpus) -> None:
        self._outbox = outbox
        self._has_gpus = bool(gpus.names)
        self.effects: dict[int, CallExecutor] = {}  # of this turn, which empties it at its end

    def call(self, executor: Executor, task: Task, move: TaskMove = TaskMove.CALL) -> None:
        """One more call for an executor; with `FOLLOW`, calls before it make what it misses."""
        task.move(move)
        task.executor = executor
        task.cost = cost = task.meter.mean
        executor.load += cost
        calls = executor.calls
        idle = not calls
        if idle:
            task.move(TaskMove.START)
        calls.append(task)
        effect = self.effects.get(executor.id)
        if effect is None:
            gpus = executor.gpus if self._has_gpus else None
            effect = CallExecutor(executor.id, [], [], [], [], gpus, [], idle)
            self.effects[executor.id] = effect
            self._outbox.effects.append(effect)
        effect.calls.append(call_row(executor, task, effect))
        for target in task.outputs:
            if target.waiting is not None:  # who waits for what the call makes may follow
                executor.followers.append(target.waiting[0])

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
        if task.row is _CANCELLING:
            task.move(TaskMove.END)
        else:
            task.move(TaskMove.TAKE_BACK)
            if not task.missing:
                task.kind.group.push(task)


def go_on(executor: Executor) -> None:
    """The oldest of an executor's calls is another one than before: the executor runs that."""
    task = executor.calls[0]
    if task.row is _CALLING:
        task.move(TaskMove.START)


def accepts(executor: Executor, task: Task) -> bool:
    """Whether the task may wait behind what the executor has in hand."""
    mean = task.meter.mean
    calls = len(executor.calls)
    if mean > LONGEST_AHEAD or executor.load > LONGEST_AHEAD or calls >= CALLS_AT_MOST:
        return False
    return calls == 1 or executor.load + mean <= QUEUE_AIM
