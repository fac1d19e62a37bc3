"""Samples the memory of executors and programs, and reports changes to the reactor.

The closer they come to their limit, and the faster they grow, the sooner is the next sample: after
a quarter of the remaining time. With much room it is one sample each second.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

import trio
from attrs import frozen

from rain.base.memory import LIMIT_PERCENT, reserve_of
from rain.governor.core.events import MemorySampled, Tell
from rain.governor.machine.memory_files import (
    KernelKills,
    below,
    left_here,
    mapped,
    own,
    processes_here,
    sessions_here,
    swapped,
    swaps,
)
from rain.governor.machine.process_groups import ProcessGroups
from rain.governor.machine.strays import Origin

SELDOM = 1.0
OFTEN = 0.05
"""The longest and the shortest time between two looks, in seconds."""

FASTEST = 200e6
"""Bytes a second by which tasks are always expected to grow."""

WORTH = 0.02
"""The largest fraction of time that looks may take."""

CHANGE = 1024 * 1024
"""Bytes; smaller changes are not reported."""

TASK_PROCESSES = 1000
"""How many processes a task may have at the same time, unless it is set."""

AT_ONCE = 0.1
"""Seconds between two looks at the number of all processes, while anything runs."""

Pids = Callable[[], Mapping[int, int]]
Busy = Callable[[], Awaitable[None]]
"""Waits until any task runs."""


@frozen
class Watched:
    """The processes whose memory and number are sampled."""

    executors: Pids
    runs: Pids
    origin: Origin
    groups: ProcessGroups | None
    most: int
    """The most processes of each task."""
    busy: Busy

    def look(self, *, everywhere: bool = False) -> MemorySampled:
        """The memory of executors and runs, and of all that they have started.

        A process whose parent has ended is found in a group, and by a look everywhere: the first
        processes of a program may have been started before it was put into its group.
        """
        sessions = sessions_here() if everywhere else {}
        executors = self.executors()
        ours = self._trees(executors, self.origin.executor, sessions)
        theirs = self._trees(self.runs(), self.origin.run, sessions)
        size = _with_swap if swaps() else own
        return MemorySampled(
            _sizes(ours, size),
            _sizes(theirs, size),
            left_here(),
            self._crowds(ours),
            self._crowds(theirs),
            self.most,
            {number: mapped(pid) for number, pid in executors.items()},
        )

    def _trees(
        self,
        pids: Mapping[int, int],
        word: Callable[[int], str],
        sessions: Mapping[int, list[int]],
    ) -> dict[int, Collection[int]]:
        return {
            number: self._tree(pid, word(number), sessions.get(pid, ()))
            for number, pid in pids.items()
        }

    def _tree(self, pid: int, word: str, session: Iterable[int]) -> Collection[int]:
        members = () if self.groups is None else self.groups.members(word)
        return {pid, *(members or below(pid)), *session}

    def _crowds(self, trees: Mapping[int, Collection[int]]) -> dict[int, int]:
        """Counts the processes of a task; its executor is not one of them."""
        return {
            number: len(tree) - 1 for number, tree in trees.items() if len(tree) > self.most + 1
        }


async def keep_watching(memory: int, watched: Watched, kills: KernelKills, tell: Tell) -> None:
    """Samples until it is cancelled; `memory` is the limit for all together, 0 if it is unknown."""
    limit = memory * LIMIT_PERCENT // 100
    reserve = reserve_of(memory)
    told = MemorySampled({}, {})
    used_before, pause = 0, SELDOM
    while True:
        grows = await pause_before_look(pause, watched.most, watched.busy)
        began = time.perf_counter()
        now = watched.look(everywhere=grows)
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


async def pause_before_look(seconds: float, most: int, busy: Busy) -> bool:
    """Waits, but no longer than until the machine has many more processes; says whether it has.

    While no task runs this is not read: an idle governor sleeps.
    """
    enough = processes_here() + most // 2
    with trio.move_on_after(seconds):
        while True:
            await busy()
            if processes_here() > enough:
                return True
            await trio.sleep(AT_ONCE)
    return False


def _sizes(trees: Mapping[int, Collection[int]], size: Callable[[int], int]) -> dict[int, int]:
    return {number: sum(map(size, tree)) for number, tree in trees.items()}


def _with_swap(pid: int) -> int:
    return own(pid) + swapped(pid)


def next_look(room: int, growth: float) -> float:
    """Seconds until the next look, with that many bytes left; `growth` is in bytes a second."""
    return min(max(room / max(4 * growth, FASTEST), OFTEN), SELDOM)


def has_changed(before: MemorySampled, now: MemorySampled, limit: int) -> bool:
    """Whether a task has come or gone, or uses much more or less memory.

    What is left counts only where the tasks cannot have all of their limit.
    """
    if abs(min(now.left, limit) - min(before.left, limit)) >= CHANGE:
        return True
    pairs = (
        (before.executors, now.executors),
        (before.runs, now.runs),
        (before.mapped, now.mapped),
    )
    return any(
        old.keys() != new.keys() or any(abs(new[key] - old[key]) >= CHANGE for key in new)
        for old, new in pairs
    )
