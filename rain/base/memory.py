"""Numbers about the memory of tasks that server and governors share."""

NOTABLE = 32 * 1024 * 1024
"""Bytes of memory that every governor has for each of its tasks; smaller needs are not sent."""

GROWTH = 2
"""The factor by which a task that was evicted for its memory gets more in its next run."""

LIMIT_PERCENT = 95
"""The percentage of its memory that a governor's tasks may use together; above it, a task is
evicted.
"""

RESERVE_PERCENT = 5
"""The percentage of a governor's memory that should be free on its machine. It does not matter
which processes use the rest.
"""

CODE = 48 * 1024 * 1024
"""The least bytes that should be free, for the code of running programs such as numpy. If heaps
take all memory, the kernel drops this code and reads it again and again, and everything stands
still.
"""


def reserve_of(memory: int) -> int:
    """How much should be free on the machine of a governor that has this much memory; 0 for 0."""
    return max(memory * RESERVE_PERCENT // 100, min(CODE, memory // 4))


MEASURED_FROM = 0.05
"""Seconds that a run must last for its memory to be measured. Shorter ones take too little."""
