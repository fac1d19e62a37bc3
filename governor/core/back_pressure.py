"""Holds back tasks whose outputs have no room on the disk, until others have made room. No I/O.

The bytes that tasks of a kind make are learned from those that have finished here. A task starts
when its outputs fit, together with the data that is there and the outputs of the tasks in hand.
**Tasks that free as much as they make go first**: they may use the whole limit, others only the
part below the mark (see `disk`). A task frees an input if no other task here reads it. A kind
without any finished task is assumed to make little, but above the mark it waits unless it reads
data.

**No task waits forever.** When nothing in hand can free anything any more, the next task that frees
at least as much as it makes may start, or else one that fits below the limit. If there is none,
only others can make room: clients that release results, and governors that have read their copies.
After a while, all tasks that wait for room are handed back to the server, which may send them to
other governors, and tells users why.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from math import inf

from rain.base.sizes import spell_size
from rain.governor.core.disk import SMALL, Disk
from rain.governor.core.nodes import UNSEEN, DataObject, Rank, Task
from rain.governor.core.objects import Objects
from rain.governor.core.pool import Pool
from rain.governor.core.tables import TaskMove

PATIENCE = 10.0
"""Seconds without any way to make room after which the waiting tasks are handed back."""

TELL_AFTER = 2.0
"""Seconds for which tasks must have waited for room before it is reported."""

_UNCOUNTED = -1

Line = list[tuple[Rank, int, Task]]


class BackPressure:
    """The tasks that are held back."""

    def __init__(self, objects: Objects, pool: Pool, runs: dict[int, Task]) -> None:
        self._objects = objects
        self._disk: Disk = objects.files.disk
        self._pool = pool
        self._runs = runs
        self.held: dict[Task, None] = {}
        self._readers: Line = []  # those that read files; may have entries of tasks that are gone
        self._roots: Line = []  # the others
        self._count = count()
        self._promised = _UNCOUNTED  # what the tasks in hand will make
        self._ahead: Task | None = None  # this one may start though there is no room
        self._held_since = inf
        self._stuck_since = inf  # nothing here can make room
        self._stuck_at = 0  # what was in use then
        self._too_little = -inf  # the room that was there when tasks were last handed back

    # What starts.

    def begin(self) -> None:
        """Called before tasks are started: held-back tasks that may have room now are ready
        again.
        """
        self._promised = _UNCOUNTED
        if not self.held:
            return
        for line in (self._readers, self._roots):
            while (task := self._first(line)) is not None and self._may_be_ready(task):
                self._let_go(line)
                self.started(task)
        self._promised = _UNCOUNTED

    def admits(self, task: Task) -> bool:
        """Whether the output of the task has room now."""
        makes, disk = task.kind.makes, self._disk
        if not makes or not disk.budget or task is self._ahead:
            return True
        if self._fits(task, makes):
            return True
        if not self._objects.lingering:
            return False
        self._objects.reclaim()
        return self._fits(task, makes)

    def started(self, task: Task) -> None:
        """The task was given to an executor, or runs."""
        if self._promised != _UNCOUNTED:
            self._promised += max(task.kind.makes, 0)
        if task is self._ahead:
            self._ahead = None

    def hold(self, task: Task) -> None:
        """A ready task that was not admitted, and was taken out of its group."""
        task.move(TaskMove.HOLD_BACK)
        self.held[task] = None
        line = self._readers if any(_files(task)) else self._roots
        heappush(line, (task.rank, next(self._count), task))

    def leave(self, task: Task) -> None:
        """A task that is held back was stopped, or goes elsewhere; the caller moves it."""
        del self.held[task]

    def _fits(self, task: Task, makes: int) -> bool:
        disk = self._disk
        frees = _freed(task)
        if makes == UNSEEN:
            return frees > 0 or disk.used + self._in_hand() <= disk.mark
        most = disk.limit if frees >= makes else disk.mark
        return disk.used + self._in_hand() + makes <= most

    def _in_hand(self) -> int:
        """The bytes on their way, and those that the tasks in hand will make."""
        if self._promised == _UNCOUNTED:
            calls = [task for executor in self._pool.busy.values() for task in executor.calls]
            making = sum(max(task.kind.makes, 0) for task in (*calls, *self._runs.values()))
            self._promised = making + self._objects.fetches.coming_bytes()
        return self._promised

    def _may_be_ready(self, task: Task) -> bool:
        """No more are made ready than could start at once."""
        return task.group.count < max(self._pool.free.slots, 1) and self.admits(task)

    def _first(self, line: Line) -> Task | None:
        while line and line[0][2] not in self.held:
            heappop(line)
        return line[0][2] if line else None

    def _let_go(self, line: Line) -> None:
        """The first one is ready again."""
        task = heappop(line)[2]
        del self.held[task]
        task.move(TaskMove.GO_ON)
        task.group.push(task)

    # What waits for too long.

    def unblock(self, *, ready: bool) -> bool:
        """Called after everything that can start was started: if nothing will make room, one task
        may go ahead.

        Returns whether there is such a task, which is ready then.
        """
        objects, now = self._objects, self._pool.now
        waits = bool(self.held) or objects.fetches.wait_for_room()
        self._held_since = min(self._held_since, now) if waits else inf
        if not waits or ready or self._is_at_work():
            self._stuck_since = inf
            return False
        for line in (self._readers, self._roots):
            task = self._first(line)
            if task is not None and self._may_go_ahead(task):
                self._ahead = task
                self._let_go(line)
                return True
        used = self._disk.used
        if self._stuck_since == inf or used < self._stuck_at:
            self._stuck_since = now  # or others have just made room
        self._stuck_at = used
        return False

    def _may_go_ahead(self, task: Task) -> bool:
        makes = task.kind.makes
        return makes == UNSEEN or _freed(task) >= makes or self._disk.has_room(makes)

    def _is_at_work(self) -> bool:
        """Whether anything in hand may make room when it has ended, or make tasks ready."""
        objects, blocked = self._objects, self._pool.lending.blocked
        if objects.fetches.going or self._disk.going or objects.offloading.sending:
            return True
        if objects.caching.asked or objects.caching.keeping:
            return True
        busy = [one for one in self._pool.busy.values() if one.id not in blocked]
        in_hand = [task for executor in busy for task in executor.calls]
        in_hand += self._runs.values()
        return any(task.kind.makes > 0 or _freed(task) for task in in_hand)

    @property
    def may_wait(self) -> bool:
        """Whether anything waits for room, or did when this was last looked at."""
        return bool(self.held or self._objects.fetches.queue.ranks) or self._held_since != inf

    @property
    def is_stuck(self) -> bool:
        """Whether something waits for room, and nothing here will make any."""
        return self._stuck_since != inf

    def goes_on(self) -> None:
        """Room is made after all (see `making_way`)."""
        self._stuck_since = inf

    def next_held(self) -> tuple[list[Task], list[Task]]:
        """The next one of those that read files, and the next one of the others."""
        first = [self._first(line) for line in (self._readers, self._roots)]
        readers, roots = ([] if task is None else [task] for task in first)
        return readers, roots

    def is_given_up(self, now: float) -> bool:
        """Whether the tasks that wait for room have to go elsewhere."""
        return now - self._stuck_since >= PATIENCE

    def give_up(self) -> None:
        """Hands back the tasks that wait for room: they go elsewhere."""
        self._too_little = self._room

    @property
    def is_full(self) -> bool:
        """Whether only others can make room for tasks that wait, or were handed back."""
        has_told = self._pool.now - self._stuck_since >= TELL_AFTER
        return has_told or self._room <= self._too_little

    @property
    def _room(self) -> float:
        return self._disk.limit - self._disk.used

    # Why.

    @property
    def words(self) -> str:
        """Why tasks wait for room, if some have done so for long; else nothing."""
        if self._pool.now - self._held_since < TELL_AFTER:
            return ""
        trouble = self._objects.offloading.trouble
        why = f", and nothing can be spilled: {trouble}" if trouble else ""
        return f"its disk for data is full ({self._numbers()}){why}"

    def why_none_for(self, task: Task) -> str:
        """Why a task was given up."""
        return (
            f"the task makes about {spell_size(task.kind.makes)}, and its governor has no room for"
            f" that: {self._numbers()}, by data that nothing there can free"
        )

    def why_none_for_input(self, target: DataObject) -> str:
        """Why an object was given up that should come here."""
        return (
            f"it has {spell_size(target.size)}, and there is no room: {self._numbers()}, by data"
            " that nothing there can free"
        )

    def _numbers(self) -> str:
        disk = self._disk
        return f"{spell_size(disk.used)} of {spell_size(disk.limit)} (--disk) are in use"


def learned(makes: int, made: int) -> int:
    """The learned size after one more task of a kind: it rises at once and falls slowly."""
    makes = made if made >= makes else makes - (makes - made) // 8
    return makes if makes >= SMALL else 0


def _files(task: Task) -> Iterator[DataObject]:
    return (target for target in task.inputs if isinstance(target.content, int))


def bytes_read(task: Task) -> int:
    """The bytes of its inputs that are files here, or will be."""
    inputs = dict.fromkeys(task.inputs)
    return sum(target.size for target in inputs if not isinstance(target.content, bytes))


def _freed(task: Task) -> int:
    """Bytes of inputs that no other task here reads."""
    reads: dict[DataObject, int] = {}
    for target in _files(task):
        reads[target] = reads.get(target, 0) + 1
    return sum(target.size for target, times in reads.items() if target.consumers <= times)
