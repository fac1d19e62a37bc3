"""Rows of plain values that describe a task to an executor or a run; made when it is called."""

from __future__ import annotations

from rain.base.errors import InvariantError
from rain.base.kinds import ObjectKind
from rain.governor.messages import BuiltinInput, CallExecutor, CallRow, FullInputRow, InputRow
from rain.governor.nodes import DataObject, Executor, Task


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


def builtin_input(target: DataObject) -> BuiltinInput:
    """One input of a task that runs inside the governor."""
    content = target.content
    if content is None:
        raise InvariantError(f"{target!r} is an input of a task that runs and is not here")
    return BuiltinInput(target.id, target.kind, target.content_type, target.size, content)
