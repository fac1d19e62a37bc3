"""Tasks with a cache of results: the cache is asked before they run, and gets their outputs
afterwards.

The cache is asked when the inputs of a task are here, since their contents are a part of the key.
While the cache is asked, a task takes no resources and needs no executor. If the cache does not
have its outputs, it runs as usual. Its outputs are in the cache before it is reported as finished,
so every governor finds the results of finished tasks. The cache works in threads, and only these
tasks wait for it.
"""

from __future__ import annotations

from attrs import frozen

from rain.base.caching import Key
from rain.base.errors import InvariantError
from rain.base.wire.update import TaskNote
from rain.governor.core.calling import builtin_input
from rain.governor.core.effects import KeepOutputs, LookUp, OutputRow
from rain.governor.core.events import LookedUp
from rain.governor.core.nodes import Task
from rain.governor.core.outbox import Outbox
from rain.governor.core.results import Made, Outputs, PassedOn, Stored
from rain.governor.core.tables import TaskMove, TaskRow


@frozen
class KeptOutputs:
    """The outputs of a task, while the cache keeps them."""

    task: Task
    start: float
    seconds: float
    outputs: Outputs


class Caching:
    """Questions to the cache that are not answered yet; stopped tasks stay until then."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._count = 0
        self.asked: dict[int, Task] = {}
        self.keeping: dict[int, KeptOutputs] = {}

    def ask(self, task: Task) -> None:
        """The inputs of a task have arrived: asks the cache for its outputs."""
        task.move(TaskMove.ASK)
        self._count += 1
        self.asked[self._count] = task
        known = task.kind
        inputs = tuple(builtin_input(target) for target in task.inputs)
        self._outbox.effects.append(LookUp(self._count, known.kind, task.config, inputs))

    def answered(self, event: LookedUp) -> Task | None:
        """Returns the task that the answer is for, unless it was stopped meanwhile.

        The caller must finish it if the cache has its outputs.
        """
        task = self.asked.pop(event.asked, None)
        if task is None:
            raise InvariantError(f"the cache answers {event.asked}, which was never asked")
        if task.row is not TaskRow.ASKING:
            return None
        self._outbox.update.task_notes.append(TaskNote(task.id, cache=event.why))
        if event.outputs is None:
            task.move(TaskMove.MISS)
            task.key = event.key
            task.group.push(task)
        return task

    def keep(self, task: Task, key: Key, start: float, seconds: float, outputs: Outputs) -> None:
        """A task has made these outputs."""
        task.move(TaskMove.KEEP)
        self._count += 1
        self.keeping[self._count] = KeptOutputs(task, start, seconds, outputs)
        rows = tuple(_row(task, output) for output in outputs)
        folder = task.kind.cache
        self._outbox.effects.append(KeepOutputs(self._count, folder, key, seconds, rows))

    def kept(self, number: int) -> KeptOutputs:
        """The cache has these outputs now, or could not keep them.

        The caller must finish the task, unless it is not wanted any more.
        """
        kept = self.keeping.pop(number, None)
        if kept is None:
            raise InvariantError(f"the cache has kept {number}, which it was never told")
        return kept


def _row(task: Task, output: bytes | Made) -> OutputRow:
    if isinstance(output, bytes):
        return OutputRow(output, "", "", len(output))
    content, content_type = output.content, output.content_type
    if isinstance(content, PassedOn):
        origin, passed = task.passed_on(content)
        return OutputRow(passed, content_type or origin.content_type, output.user, origin.size)
    if isinstance(content, Stored):
        return OutputRow(content.file, content_type, output.user, content.size)
    return OutputRow(content, content_type, output.user, len(content))
