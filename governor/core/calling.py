"""Sends calls to executors ahead of time, applies their answers, and takes calls back.

**Prefetching.** A round trip to the governor between two tasks of 20 microseconds would cost ten
times more than the tasks. So an executor gets several calls ahead, as many as are expected to last
`QUEUE_AIM` together. The first task of a function always runs alone, because its duration is not
known, and nothing is queued behind a task that is expected to last longer than `LONGEST_AHEAD`.
Sending the inputs of a call takes time, too, which is lost if the call is taken back.

**A call is claimed once.** Each call is one token in a pipe from the governor to the executor. The
executor takes a token out of the pipe before it starts a call; the governor takes calls back by
reading tokens itself. The kernel gives each token to only one of them, also while the executor is
busy and after its death. So a call never runs twice and is never lost, and the governor knows
exactly which calls were started. Answers go through a pipe too, which survives the executor.

**Followers** are calls queued behind the calls that make their inputs. Otherwise each task of a
chain would cost a round trip to the governor, which takes many times longer than a short task. The
executor keeps its recent outputs, so it has the inputs when it reaches the follower. If it does not
(an earlier call failed or made a large output), it says so, and the task waits here as if it had
never been sent. Only straight chains are sent: if several tasks wait for one object, other
executors may have time for some of them.

**Executors of other languages** have no such pipe: they get one call at a time, and a call counts
as started when it was sent.
"""

from __future__ import annotations

from rain.base.errors import InvariantError
from rain.base.kinds import ObjectKind
from rain.governor.core.effects import BuiltinInput, CallExecutor, CallRow, FullInputRow, InputRow
from rain.governor.core.gpus import Gpus
from rain.governor.core.nodes import DataObject, Executor, Task
from rain.governor.core.outbox import Outbox
from rain.governor.core.tables import ObjectRow, TaskMove, TaskRow

QUEUE_AIM = 0.005
LONGEST_AHEAD = 0.01
CALLS_AT_MOST = 500

MUCH = 4096
SECONDS_A_BYTE = 5e-9
"""The expected time per byte of calls with more than `MUCH` bytes: so about five calls of 200 KB
are sent ahead, and not all of them.
"""

_CALLING = TaskRow.CALLING
_CANCELLING = TaskRow.CANCELLING
_HELD = ObjectRow.HELD
_MAKING = ObjectRow.MAKING
_WAITING = TaskRow.WAITING


class Calls:
    """Collects the calls of a turn, one effect for each executor."""

    def __init__(self, outbox: Outbox, gpus: Gpus) -> None:
        self._outbox = outbox
        self._has_gpus = bool(gpus.names)
        self.effects: dict[int, CallExecutor] = {}  # of this turn; emptied at its end

    def call(self, executor: Executor, task: Task, move: TaskMove = TaskMove.CALL) -> None:
        """Adds a call for an executor; with `FOLLOW`, calls before it make its missing inputs."""
        task.move(move)
        task.executor = executor
        cost = task.meter.mean
        if len(task.config) > MUCH:
            cost += len(task.config) * SECONDS_A_BYTE
        for target in task.inputs:
            if (
                target.size > MUCH
                and type(target.content) is bytes
                and target.id not in executor.cached
            ):
                cost += target.size * SECONDS_A_BYTE
        task.cost = cost
        executor.load += cost
        calls = executor.calls
        if not calls:
            task.move(TaskMove.START)
        calls.append(task)
        effect = self.effects.get(executor.id)
        if effect is None:
            gpus = executor.gpus if self._has_gpus else None
            effect = CallExecutor(executor.id, [], [], [], [], gpus)
            self.effects[executor.id] = effect
            self._outbox.effects.append(effect)
        effect.calls.append(call_row(executor, task, effect))
        for target in task.outputs:
            if target.waiting is not None:  # tasks that wait for its outputs may follow
                executor.followers.append(target.waiting[0])

    def return_unstarted(self, executor: Executor, count: int) -> None:
        """Takes the newest `count` calls from an executor, which will not start them."""
        if count > len(executor.calls):
            raise InvariantError(f"{count} unstarted calls of {executor!r}")
        for _ in range(count):
            task = executor.calls.pop()
            task.executor = None
            executor.load -= task.cost
            self.not_run(task)

    def not_run(self, task: Task) -> None:
        """An executor could not run this task: it waits here again."""
        if task.row is _CANCELLING:
            task.move(TaskMove.END)
            self._outbox.ended(task)
        else:
            task.move(TaskMove.TAKE_BACK)
            if not task.missing:
                task.group.push(task)


def start_oldest(executor: Executor) -> None:
    """The oldest call of an executor has changed: this is the one that it runs now."""
    task = executor.calls[0]
    if task.row is _CALLING:
        task.move(TaskMove.START)


def accepts(executor: Executor, task: Task) -> bool:
    """Whether the task may be queued behind the calls of the executor."""
    mean = task.meter.mean
    calls = len(executor.calls)
    if mean > LONGEST_AHEAD or executor.load > LONGEST_AHEAD or calls >= CALLS_AT_MOST:
        return False
    return calls == 1 or executor.load + mean <= QUEUE_AIM


def call_row(executor: Executor, task: Task, effect: CallExecutor) -> CallRow:
    """Makes the row of a call; adds to the effect what else the executor needs."""
    kind = task.kind
    kind_id = kind.kind.id
    if kind_id not in executor.known_kinds:
        executor.known_kinds.add(kind_id)
        effect.task_kinds.append(kind.kind)
        _tell_kinds(executor, kind.outputs, effect.object_kinds)
    cached = executor.cached
    inputs: list[InputRow] = []
    for target in task.inputs:
        if target.id in cached and not executor.one_by_one:
            inputs.append(target.id)
        else:
            inputs.append(_input_row(executor, target, effect))
    for place, target in enumerate(task.inputs[: kind.functions]):
        if target.id not in cached:
            # Sent separately, because the call may be taken back before it is read.
            effect.remembered.append(inputs[place])
            executor.remember(target)
            inputs[place] = target.id
    return task.id, kind_id, task.config, inputs, task.output_ids


def _input_row(executor: Executor, target: DataObject, effect: CallExecutor) -> FullInputRow:
    if target.id in executor.cached:
        effect.held.append(target.id)
    content = target.content
    if content is None and (target.producer is None or target.producer.executor is not executor):
        raise InvariantError(f"{target!r} is an input of a call and is not here")
    kind = target.kind
    if kind.id not in executor.known_kinds:
        _tell_kinds(executor, (kind,), effect.object_kinds)
    return target.id, kind.id, target.content_type, target.user, target.size, content


def _tell_kinds(executor: Executor, kinds: tuple[ObjectKind, ...], told: list[ObjectKind]) -> None:
    for kind in kinds:
        if kind.id not in executor.known_kinds:
            executor.known_kinds.add(kind.id)
            told.append(kind)


def mapped_size(task: Task) -> int:
    """Bytes of its inputs that are files: its executor has mapped them while it ran."""
    return sum(target.size for target in task.inputs if isinstance(target.content, int))


def builtin_input(target: DataObject) -> BuiltinInput:
    """One input of a task that runs inside the governor."""
    content = target.content
    if content is None:
        raise InvariantError(f"{target!r} is an input of a task that runs and is not here")
    return BuiltinInput(target.id, target.kind, target.content_type, target.size, content)


def propose_follower(task: Task) -> None:
    """Proposes a new task with missing inputs as a follower, if one executor makes them."""
    for target in task.inputs:
        if target.producer is not None and target.producer.executor is not None:
            target.producer.executor.followers.append(task)
            return


def can_follow(task: Task, executor: Executor) -> bool:
    """Whether the executor will have all missing inputs when it reaches the task."""
    if task.row is not _WAITING or task.group is not executor.group or task.kind.cache:
        return False  # the cache is asked only with the inputs at hand
    for target in task.inputs:
        if target.row is not _HELD and not _makes(executor, target, task):
            return False
    # Functions never come from a follower's inputs: an executor needs more than their value.
    for function in task.inputs[: task.kind.functions]:  # noqa: SIM110 # as in `answers`
        if function.row is not _HELD:
            return False
    return True


def _makes(executor: Executor, target: DataObject, task: Task) -> bool:
    """Whether a call queued at the executor makes the object, and only this task waits for it."""
    producer = target.producer
    waiting = target.waiting
    return (
        target.row is _MAKING
        and producer is not None
        and producer.executor is executor
        and not producer.kind.cache  # the follower could finish before its outputs are kept
        and waiting is not None
        and waiting.count(task) == len(waiting)
    )
