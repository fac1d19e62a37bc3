"""Decides which tasks are cancelled when a client no longer wants some results."""

from __future__ import annotations

from collections.abc import Iterable

from rain.base.states import TASK_STATES, TaskState
from rain.graph.task import Task


def unstarted(tasks: Iterable[Task]) -> list[Task]:
    """The tasks that are not done and that no governor has reported as started."""
    running = TaskState.RUNNING
    return [task for task in tasks if TASK_STATES[task.row] is not running and not task.is_done]


def unwanted(targets: Iterable[Task]) -> list[Task]:
    """These tasks, and all unfinished tasks whose outputs only these need.

    A task is included if each of its outputs is not kept, and is read only by tasks that are
    included as well, or that cannot run without these.
    """
    gone = dict.fromkeys(task for task in targets if task.goes_on and not task.is_done)
    lost = _readers(gone)
    pending = list(lost)
    while pending:
        for data_object in pending.pop().inputs:
            producer = data_object.producer
            if producer is None or producer in lost or producer.is_done or not producer.goes_on:
                continue
            if _serves_only(producer, lost):
                gone[producer] = lost[producer] = None
                pending.append(producer)
    return list(gone)


def _readers(tasks: Iterable[Task]) -> dict[Task, None]:
    """These tasks and all tasks that depend on them."""
    found = dict.fromkeys(tasks)
    pending = list(found)
    while pending:
        for output in pending.pop().outputs:
            for reader in output.consumers:
                if not reader.is_done and reader not in found:
                    found[reader] = None
                    pending.append(reader)
    return found


def _serves_only(producer: Task, lost: dict[Task, None]) -> bool:
    for output in producer.outputs:
        readers = [reader for reader in output.consumers if not reader.is_done]
        is_contained = output.needed_by > len(readers)
        if output.kept or is_contained or any(reader not in lost for reader in readers):
            return False
    return True
