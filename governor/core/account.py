"""The account of a governor's memory: what holds how much, and for what, each counted once.

* `limit`: what tasks may have together (`budget`), and `set_aside`: what is reserved for those that
  run, because they declare it or were found to need it.
* `withheld`: how much of the limit other programs of the machine, or of its control group, use now.
* `tasks`: the private memory of executors and programs, idle ones included.
* `stored`: objects that are files of the store. Executors map them, and that costs no more.
* `disk`: those files, each counted once, and `disk_limit`: what they may have together.
* `held`: objects in the memory of the governor itself, which are small.
* `arriving`: objects that are being fetched, as large as they will be.
"""

from __future__ import annotations

from collections import Counter

from rain.base.resources import MEMORY
from rain.governor.core.state import State
from rain.governor.core.tables import ObjectRow

NAMES = 20
"""This many names of running tasks are reported: those with the most memory."""

Amounts = tuple[tuple[str, int], ...]


def account_of(state: State) -> Amounts:
    """What there is now, by name."""
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
