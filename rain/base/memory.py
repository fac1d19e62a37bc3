"""Numbers about the memory of tasks that server and governors share."""

NOTABLE = 32 * 1024 * 1024
"""Bytes of memory that every governor has for each of its tasks, so that less is not told."""

GROWTH = 2
"""How many times of what it had a task gets that was ended for want of memory."""

LIMIT_PERCENT = 95
"""How much of its memory the tasks of a governor may take together; with more it ends one."""

RESERVE_PERCENT = 5
"""As much of a governor's memory should be free on its machine, no matter what has the rest."""

CODE = 48 * 1024 * 1024
"""Bytes that should be free at least. The code of running programs is there, numpy's for instance.
The kernel drops code when heaps take all, and reads it again and again: everything stands still."""


def reserve_of(memory: int) -> int:
    """How much should be free on the machine of a governor that has this much memory; 0 for 0."""
    return max(memory * RESERVE_PERCENT // 100, min(CODE, memory // 4))


MEASURED_FROM = 0.05
"""Seconds that a run must last for its memory to be measured. Shorter ones take too little."""
