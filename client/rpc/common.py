"""States of tasks and data objects, as the client shows them."""

import enum


class TaskState(enum.IntEnum):
    """The states of a task. The names are those of Rain 0.4."""

    notAssigned = 0  # noqa: N815 # a name that programs use
    ready = 1
    assigned = 2
    running = 3
    finished = 4
    failed = 5
    cancelled = 6  # it, or what it needs; of Rain 0.4 no task was


WITHOUT_RESULT = (TaskState.failed, TaskState.cancelled)
"""The states of tasks that will never have a result."""


class DataObjectState(enum.IntEnum):
    """The states of a data object."""

    unfinished = 0
    finished = 1
    removed = 2
    failed = 3
