"""Ends tasks: takes or discards their outputs, and reports them to the server."""

from __future__ import annotations

import msgpack
from attrs import evolve

from rain.base.ids import spell
from rain.base.runs import RunCause
from rain.base.sizes import spell_size
from rain.base.units import UNIT, InnerCall, failure_inside
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.update import ObjectNote, TaskFailure, TaskNote
from rain.governor.core.back_pressure import learned
from rain.governor.core.disk import Disk
from rain.governor.core.nodes import DataObject, Task
from rain.governor.core.objects import Objects
from rain.governor.core.outbox import Outbox
from rain.governor.core.results import Content, Failed, Made, Outputs, PassedOn, Stored
from rain.governor.core.tables import ObjectRow, TaskMove, TaskRow

_CANCELLING = TaskRow.CANCELLING
_MAKING = ObjectRow.MAKING
_HELD = ObjectRow.HELD

OVER = (TaskRow.FINISHED, TaskRow.FAILED, TaskRow.KEEPING)
"""Rows of tasks that have ended by themselves: their notes and logs are reported to the server."""


class Endings:
    """Removes tasks from the tables and tells the server why."""

    def __init__(self, outbox: Outbox, objects: Objects) -> None:
        self._outbox = outbox
        self._objects = objects
        self._disk = objects.files.disk

    def end(self, task: Task, start: float, duration: float, result: Outputs | Failed) -> None:
        """The executor or program that works on the task since `start` has finished with it."""
        if task.row is _CANCELLING:
            task.move(TaskMove.END)
            self._outbox.ended(task)
            self.discard(result)
            return
        if task.row is TaskRow.TIMED_OUT:
            self.discard(result)
            self.fail(task, _timed_out(task, result))
            return
        if task.row is TaskRow.EVICTED:
            self.discard(result)
            self.fail(task, _evicted(task, result))
            return
        if isinstance(result, Failed):
            self.fail(task, self._for_good(result))
            return
        plain = len(result) == len(task.outputs)
        for output in result:
            if type(output) is Made:
                plain = False
        if not plain and (fault := _fault(task, result)):
            self.discard(result)
            self.fail(task, Failed(fault))
        elif not plain and self._disk.never_has(made := _stored(result)):
            self.discard(result)
            self.fail(task, never_fits("what the task has made", made, self._disk))
        elif task.key is not None and (plain or not _has_futures(result)):
            self._objects.caching.keep(task, task.key, start, duration, result)
        else:
            self.finish(task, start, duration, result)

    def _for_good(self, failure: Failed) -> Failed:
        """The same, unless the disk had no room for an output that can never have room there."""
        if self._disk.never_has(failure.disk):
            return never_fits("what the task makes", failure.disk, self._disk)
        return failure

    def note_logs(self, task: Task, logs: str) -> None:
        """Reports what a task has printed, unless the task was stopped."""
        if logs and task.row in OVER:
            self._outbox.note(TaskNote(task.id, logs=logs))

    def finish(self, task: Task, start: float, duration: float, outputs: Outputs) -> None:
        """The task has made these outputs, which were checked."""
        task.move(TaskMove.FINISH)
        finished = self._outbox.update.finished
        finished.ids.append(task.id)
        finished.runs.append(task.number)
        finished.durations.append(duration)
        finished.starts.append(start)
        finished.peaks.append(task.peak)
        finished.output_counts.append(len(outputs))
        stored = 0  # bytes of new files
        for place, target in enumerate(task.outputs):
            output = outputs[place]
            if type(output) is bytes and target.row is _MAKING:
                self._objects.made_bytes(target, output)
                data: Content | None = output
            else:
                data = self._take_output(task, target, output)
                if type(output) is Made and type(output.content) is Stored:
                    stored += output.content.size
            finished.sizes.append(target.size)
            if type(data) is bytes and len(data) <= INLINE_LIMIT:
                finished.data.append(data)
            else:
                finished.data.append(b"")
        kind = task.kind
        if stored or kind.makes:
            kind.makes = learned(kind.makes, stored)
        self._leave(task)

    def _take_output(self, task: Task, target: DataObject, output: bytes | Made) -> Content | None:
        """Takes an output that is not just new bytes; returns the content of the object."""
        made = Made(output) if isinstance(output, bytes) else output
        content: Content
        content_type = made.content_type
        if isinstance(made.content, PassedOn):
            origin, content = task.passed_on(made.content)
            self._objects.files.share(content)
            size = origin.size
            content_type = content_type or origin.content_type
        elif isinstance(made.content, Stored):
            content, size = made.content.file, made.content.size
        else:
            content, size = made.content, len(made.content)
        held_before = target.content  # content that is held stays
        self._objects.made(target, content, size, content_type, made.user)
        if content_type or made.user or made.contents:
            note = ObjectNote(target.id, content_type, made.user, made.contents)
            self._outbox.note_object(note)
        return content if held_before is None else held_before

    def fail(self, task: Task, failure: Failed) -> None:
        """A task in any row has failed. If the disk is full, all lingering objects are removed."""
        if failure.cause is RunCause.NOT_STARTED:
            self._objects.reclaim()
        if task.row is TaskRow.READY:
            task.group.leave()
        task.move(TaskMove.FAIL)
        self._outbox.fail(
            TaskFailure(
                task.id,
                task.number,
                failure.message,
                failure.debug,
                failure.cause,
                failure.exception,
                failure.status,
                _is_retryable(task, failure),
                failure.handed_on,
                task.peak,
                failure.disk if failure.cause is RunCause.DISK else 0,
            )
        )
        for target in task.outputs:
            task.session.unmade[target.id] = target.kind
        self.abandon(task)

    def abandon(self, task: Task) -> None:
        """The task will not make its outputs."""
        for target in task.outputs:
            self._objects.unmade(target)
        self._leave(task)

    def _leave(self, task: Task) -> None:
        del task.session.tasks[task.id]
        if task.group is not task.kind.group:
            task.group.kinds -= 1
        for target in task.inputs:
            if target.row is _HELD and (target.wanted or target.consumers > 1):
                target.consumers -= 1
            else:
                self._objects.unread(target, task)

    def discard(self, result: Outputs | Failed) -> None:
        """Removes a result that is not wanted."""
        if isinstance(result, Failed):
            return
        for output in result:
            if isinstance(output, Made) and isinstance(output.content, Stored):
                self._objects.files.discard(output.content)


def never_fits(what: str, size: int, disk: Disk) -> Failed:
    """The failure of a task that cannot run here, however empty the disk is."""
    message = (
        f"{what} has {spell_size(size)}, and its governor may have {spell_size(disk.budget)} of"
        " data in all (--disk)"
    )
    return Failed(message, cause=RunCause.DISK, disk=size)


def _stored(outputs: Outputs) -> int:
    """The bytes of new files."""
    made = [output.content for output in outputs if type(output) is Made]
    return sum(content.size for content in made if type(content) is Stored)


def _has_futures(outputs: Outputs) -> bool:
    """Whether an output contains futures, which are meaningless in a later run."""
    return any(type(output) is Made and bool(output.contents) for output in outputs)


def _timed_out(task: Task, result: Outputs | Failed) -> Failed:
    """The failure of a run whose time was over, whatever it has answered when it was ended."""
    seconds = task.kind.kind.attempts.timeout
    message = f"the task ran for longer than its timeout of {seconds:g} s, and was ended"
    if not isinstance(result, Failed):
        return Failed(message, cause=RunCause.TIMEOUT)
    return Failed(
        f"{message}:\n{result.message}", result.debug, RunCause.TIMEOUT, b"", result.status
    )


def _evicted(task: Task, result: Outputs | Failed) -> Failed:
    """The failure of a run that had too much of something, however it has ended."""
    assert task.verdict is not None
    status = result.status if isinstance(result, Failed) else None
    return evolve(task.verdict, status=status)


def _is_retryable(task: Task, failure: Failed) -> bool:
    """Whether the kind of the task says that this is worth another try."""
    attempts = task.kind.kind.attempts
    if failure.cause is RunCause.TIMEOUT:
        return not attempts.final_timeout
    codes = attempts.retry_codes
    if codes and failure.cause is RunCause.TASK:
        return failure.status in codes
    return failure.retryable


def _fault(task: Task, outputs: Outputs) -> str:
    """The fault of the reported outputs of a task; "" for none."""
    if len(outputs) != len(task.outputs):
        return f"the task made {len(outputs)} outputs instead of {len(task.outputs)}"
    for output in outputs:
        if type(output) is Made and type(output.content) is PassedOn:
            passed = output.content.object
            if task.input_of(passed) is None:
                return f"the task passed on the object {spell(passed)}, which is not its input"
    return ""


def failure_at(task: Task, place: int, text: str) -> str:
    """Why a task has failed; for a unit, with the name of the call at that place."""
    if task.kind.kind.task_type != UNIT or not place:
        return text
    try:
        config = msgpack.unpackb(task.config)
        calls = config["calls"]
        inner = InnerCall._make(calls[place - 1])
        name = config["kinds"][inner.kind][0]
        return failure_inside(inner.task, name, place, len(calls), text)
    except (LookupError, TypeError, ValueError, msgpack.UnpackException):
        return text  # a config that our clients never send
