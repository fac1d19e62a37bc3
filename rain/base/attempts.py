"""Attempts: how often a task may be run until it has failed, and for how long each time."""

from attrs import frozen

MOST_TRIES = 100
"""How many tries a task may have at most: each run that fails is remembered."""

MEMORY_TRIES = 4
"""Runs that may end because they take too much memory, if a task does not say how many."""

LONGEST_PAUSE = 300.0
"""Seconds to which pauses between runs grow, unless the first one is longer already."""


@frozen(cache_hash=True)
class Attempts:
    """The users' options for the runs of a task; a part of its kind."""

    tries: int = 1  # runs that may fail by what the task does itself, the last one for good
    crash_tries: int = 0  # runs that may end by a crash around it; 0 for as many as the server says
    backoff: float = (
        0.0  # seconds from a failed run to the next one, which double with each of them
    )
    timeout: float = 0.0  # seconds that one run may take from its start; 0 for no limit
    # What is worth another try; with neither of these every failure is.
    retry_on: bytes = b""  # a pickled tuple of exception classes, which only executors read
    retry_codes: tuple[int, ...] = ()  # exit codes of programs; of signals the negative numbers
    final_timeout: bool = False  # and a timeout is not among them
    memory_tries: int = 0  # runs that may end for want of memory; 0 for `MEMORY_TRIES`


ONE_TRY = Attempts()
"""Nothing was said."""
