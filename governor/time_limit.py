"""Reads the time limit of a governor from its options or its batch system, and drains in time.

It drains early enough to leave by itself: the batch system kills what runs at the end of a job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

import trio

from rain.base.durations import parse_duration
from rain.base.errors import StartError

MARGIN = 5.0
"""The governor has left this many seconds before its limit."""

SLURM_END = "SLURM_JOB_END_TIME"
"""Seconds since 1970, in the jobs of Slurm."""


def leaving_time(limit: str | None, environment: Mapping[str, str], now: float) -> float | None:
    """When a governor that starts now must be gone, None if there is no such time.

    The earlier one of the limit that its user gives and the end of its job counts. 'none' means
    that the job is ignored.
    """
    if limit == "none":
        return None
    ends: list[float] = []
    if limit is not None:
        try:
            ends.append(now + parse_duration(limit))
        except ValueError as error:
            raise StartError(f"--time-limit: {error}") from None
    end = environment.get(SLURM_END, "")
    if end.isdecimal():
        ends.append(float(end))
    return min(ends, default=None)


def time_for_tasks(leaves_at: float | None, now: float) -> float:
    """The seconds in which a task must have ended. The server gets seconds, because its clock may
    differ.
    """
    return inf if leaves_at is None else max(0.0, leaves_at - MARGIN - now)


async def drain_in_time(
    seconds_left: float, drain_seconds: float, leave: Callable[[], bool]
) -> None:
    """Begins to drain in time; returns when the governor must end, drained or not."""
    before = max(0.0, seconds_left - MARGIN)
    begin = max(0.0, before - drain_seconds)
    await trio.sleep(begin)
    leave()
    await trio.sleep(before - begin)
