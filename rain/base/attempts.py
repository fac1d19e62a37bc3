"""Attempts: how often a task may be run until it has failed."""

from attrs import frozen

MOST_TRIES = 100
"""How many tries a task may have at most: each run that fails is remembered."""


@frozen(cache_hash=True)
class Attempts:
    """What users say about the runs of a task; a part of its kind."""

    tries: int = 1  # runs that may fail by what the task does itself, the last one for good
    crash_tries: int = 0  # runs that may end by a crash around it; 0 for as many as the server says


ONE_TRY = Attempts()
"""Nothing was said."""
