"""Looks at the memory of executors and programs, and tells the reactor what has changed.

The closer they come to their limit, and the faster they grow, the sooner is the next sample: after
a quarter of the remaining time. With much room it is one sample each second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import trio

from rain.base.memory import LIMIT_PERCENT, RESERVE_PERCENT
from rain.governor.events import Event, MemorySampled
from rain.governor.memory_files import KernelKills, below, left_here, own, swapped, swaps

SELDOM = 1.0
OFTEN = 0.05
"""The longest and the shortest time between two looks, in seconds."""

FASTEST = 200e6
"""Bytes a second by which tasks are always expected to grow."""

WORTH = 0.02
"""The largest fraction of time that looks may take."""

CHANGE = 1024 * 1024
"""Bytes; what has changed by less is not told."""

TASK_PROCESSES = 1000
"""How many processes a task may have at the same time, if nobody says how many."""

Pids = Callable[[], Mapping[int, int]]


async def keep_watching(
    memory: int,
    executors: Pids,
    runs: Pids,
    kills: KernelKills,
    tell: Callable[[Event], object],
    most: int,
) -> None:
    """Looks for ever; `memory` is what all may have together, 0 if nobody knows.

    Each task may have as many processes as `most` says.
    """
    limit = memory * LIMIT_PERCENT // 100
    reserve = memory * RESERVE_PERCENT // 100
    told = MemorySampled({}, {})
    used_before, pause = 0, SELDOM
    while True:
        await trio.sleep(pause)
        began = time.perf_counter()
        now = look(executors(), runs(), most)
        used = sum(now.executors.values()) + sum(now.runs.values())
        room = limit - used if now.left < 0 else min(limit - used, now.left - reserve)
        is_late = (limit and room < 0) or now.crowds or now.crowds_of_runs
        if is_late or has_changed(told, now, limit):
            tell(now)
            told = now
        kills.forget()
        took = time.perf_counter() - began
        growth = (used - used_before) / pause
        used_before = used
        pause = max(next_look(room, growth) if limit else SELDOM, took / WORTH)


def look(executors: Mapping[int, int], runs: Mapping[int, int], most: int) -> MemorySampled:
    """The memory of these processes and of all their descendants."""
    ours, theirs = _trees(executors), _trees(runs)
    size = _with_swap if swaps() else own
    return MemorySampled(
        _sizes(ours, size),
        _sizes(theirs, size),
        left_here(),
        _crowds(ours, most),
        _crowds(theirs, most),
    )


def _trees(pids: Mapping[int, int]) -> dict[int, list[int]]:
    return {number: [pid, *below(pid)] for number, pid in pids.items()}


def _sizes(trees: Mapping[int, list[int]], size: Callable[[int], int]) -> dict[int, int]:
    return {number: sum(map(size, tree)) for number, tree in trees.items()}


def _with_swap(pid: int) -> int:
    return own(pid) + swapped(pid)


def _crowds(trees: Mapping[int, list[int]], most: int) -> dict[int, int]:
    """Counts the processes of a task; its executor is not one of them."""
    return {number: len(tree) - 1 for number, tree in trees.items() if len(tree) > most + 1}


def next_look(room: int, growth: float) -> float:
    """Seconds until the next look, with that many bytes left; `growth` is in bytes a second."""
    return min(max(room / max(4 * growth, FASTEST), OFTEN), SELDOM)


def has_changed(before: MemorySampled, now: MemorySampled, limit: int) -> bool:
    """Whether anybody has come or gone, or has much more or less.

    What is left counts only where the tasks cannot have all of their limit.
    """
    if abs(min(now.left, limit) - min(before.left, limit)) >= CHANGE:
        return True
    pairs = ((before.executors, now.executors), (before.runs, now.runs))
    return any(
        old.keys() != new.keys() or any(abs(new[key] - old[key]) >= CHANGE for key in new)
        for old, new in pairs
    )
