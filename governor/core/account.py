"""The report of a governor's memory and disk: what uses how much, each byte counted once.

* `limit`: what all tasks together may use (`budget`), and `set_aside`: what is reserved for running
  tasks, because they declare it or were measured.
* `withheld`: the part of the limit that other programs of the machine, or of its control group, use
  now.
* `tasks`: the private memory of executors and programs, idle ones included.
* `stored`: objects in files of the store. Executors map these files, which takes no more memory.
* `disk`: the same files, and `disk_limit`: what all of them together may use.
* `held`: small objects in the memory of the governor itself.
* `arriving`: objects that are being fetched, with their final sizes.
"""

from __future__ import annotations

from collections import Counter

from rain.base.resources import MEMORY
from rain.base.wire.answers import TaskMemory
from rain.governor.core.nodes import Task
from rain.governor.core.state import State
from rain.governor.core.tables import ObjectRow

NAMES = 20
"""This many names of running tasks are reported: those with the most memory."""

Amounts = tuple[tuple[str, int], ...]


def account_of(state: State) -> Amounts:
    """The current amounts of memory and data, by name."""
    limit = state.capacity.amount(MEMORY)
    free, disk = state.pool.free, state.objects.files.disk
    stored = held = arriving = 0
    for session in state.sessions.values():
        for target in session.objects.values():
            if isinstance(target.content, int):
                stored += target.size
            elif target.content is not None:
                held += target.size
            elif target.row is ObjectRow.PULLING:
                arriving += target.size
    return (
        ("limit", limit),
        ("set_aside", limit - free.others.get(MEMORY, 0) - free.withheld),
        ("withheld", free.withheld),
        ("tasks", state.pressure.used()),
        ("stored", stored),
        ("disk", disk.used),
        ("disk_limit", disk.limit),
        ("held", held),
        ("arriving", arriving),
    )


def by_name(state: State) -> Amounts:
    """The memory of running tasks, by their names, the largest first."""
    names: Counter[str] = Counter()
    for executor in state.pool.busy.values():
        kind = executor.calls[0].kind.kind
        names[kind.name or kind.task_type] += executor.memory
    for run, task in state.dispatch.runs.items():
        kind = task.kind.kind
        names[kind.name or kind.task_type] += state.dispatch.memory.get(run, 0)
    return tuple(names.most_common(NAMES))


def memory_of(state: State, task: Task) -> TaskMemory:
    """The memory of a running task, by the samples so far; nothing is known of what it maps."""
    executor = task.executor
    now = state.dispatch.memory.get(task.run, 0) if executor is None else executor.memory
    return TaskMemory(now, max(now, task.peak))


def files_read(task: Task) -> dict[int, int]:
    """The sizes of the files that are inputs of a task."""
    return {given.content: given.size for given in task.inputs if isinstance(given.content, int)}
