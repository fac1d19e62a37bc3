"""The queue of a governor's tasks that are planned and ready, best first.

Most tasks come in the order of their priorities, because planners give later tasks lower ones. They
are appended to a line, which costs little. Tasks that come out of order are in a sorted list.

The priority that a planner gives is a place among the tasks of all sessions. The user's priority
decides which task of the session gets the best place of the session (`turns`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from heapq import merge
from typing import TYPE_CHECKING, cast

from attrs import define, field
from sortedcontainers import SortedList

from rain.base.errors import InvariantError
from rain.graph.turns import Turns

if TYPE_CHECKING:
    from rain.graph.session import Session
    from rain.graph.task import Task

Entry = tuple[int, int, int, "Task"]
"""A place in the queue: depth, priority of the plan, order, and the task that has brought it."""


@define(eq=False, repr=False)
class ReadyQueue:
    """Deeper tasks first, then by the priority of the plan, then by order.

    So the tasks that running tasks wait for go first. A member's priorities must not change. The
    places of one session go to its tasks of the largest `TaskKind.priority`.
    """

    # Orders are unique, so that two entries never fall back on comparing tasks.
    _line: deque[Entry] = field(init=False, factory=deque)  # in ascending order of entries
    _others: SortedList[Entry] | None = field(init=False, default=None)  # None if it would be empty
    # Only of sessions whose tasks have priorities.
    _turns: dict[Session, Turns] = field(init=False, factory=dict)

    def __len__(self) -> int:
        return len(self._line) + (0 if self._others is None else len(self._others))

    def __contains__(self, task: Task) -> bool:
        entry = _entry(task)
        turns = self._turns.get(task.session)
        if turns is not None:
            return entry in turns
        return self._place(entry) is not None or entry in (self._others or ())

    def __iter__(self) -> Iterator[Task]:
        """All members, the next to go first."""
        return self._members(merge(self._line, self._others or ()), backwards=False)

    def __reversed__(self) -> Iterator[Task]:
        """All members, the next to go last."""
        both = merge(reversed(self._line), reversed(self._others or ()), reverse=True)
        return self._members(both, backwards=True)

    def _members(self, places: Iterator[Entry], *, backwards: bool) -> Iterator[Task]:
        if not self._turns:
            return (entry[3] for entry in places)
        turns = {
            session: reversed(found.members) if backwards else iter(found.members)
            for session, found in self._turns.items()
        }
        return (
            next(turns[entry[3].session])[2][-1] if entry[3].session in turns else entry[3]
            for entry in places
        )

    def best_priority(self) -> int | None:
        """The priority of the best place, for any task that will take it; None without a place."""
        first = next(merge(self._line, self._others or ()), None)
        return None if first is None else -first[1]

    def add(self, task: Task) -> None:
        """Puts a task in."""
        line, entry = self._line, _entry(task)
        if task.session.has_priorities:
            self._turns_of(task.session).add(entry)
        if not line or entry > line[-1]:
            line.append(entry)
            return
        if self._others is None:
            self._others = SortedList()
        self._others.add(entry)

    def _turns_of(self, session: Session) -> Turns:
        """The turns of a session; tasks that came before it had priorities take part, too."""
        turns = self._turns.get(session)
        if turns is None:
            turns = self._turns[session] = Turns()
            for entry in (*self._line, *(self._others or ())):
                if entry[3].session is session:
                    turns.add(entry)
        return turns

    def remove(self, task: Task) -> None:
        """Takes a member out, wherever it is."""
        entry = _entry(task)
        turns = self._turns.get(task.session)
        if turns is not None:
            if entry not in turns:
                raise InvariantError(f"{task!r} is not in the queue")
            entry = cast("Entry", turns.leave(entry))
            self._prune(task.session)
        self._remove_place(entry)

    def _remove_place(self, entry: Entry) -> None:
        place = self._place(entry)
        if place is not None:
            del self._line[place]
            return
        others = self._others
        if others is None or entry not in others:
            raise InvariantError(f"{entry[3]!r} is not in the queue")
        others.remove(entry)
        if not others:
            self._others = None

    def _prune(self, session: Session) -> None:
        if not self._turns[session].members:
            del self._turns[session]

    def forget(self, session: Session) -> None:
        """Takes out all tasks of a session."""
        self._line = deque([entry for entry in self._line if entry[3].session is not session])
        others = [entry for entry in self._others or () if entry[3].session is not session]
        self._others = SortedList(others) if others else None
        self._turns.pop(session, None)

    def depth(self) -> int:
        """How deep the best one is; 0 when there is none."""
        line, others = self._line, self._others
        depth = -line[0][0] if line else 0
        return max(depth, -others[0][0]) if others else depth

    def pop(self) -> Task:
        """Takes the best one out."""
        return self.take(1)[0]

    def take(self, count: int) -> list[Task]:
        """Takes up to `count` of the best ones out."""
        line, others = self._line, self._others
        taken: list[Entry] = []
        if others is not None:
            while others and len(taken) < count:
                taken.append(line.popleft() if line and line[0] < others[0] else others.pop(0))
            if not others:
                self._others = None
        if line:
            for _ in range(min(count - len(taken), len(line))):
                taken.append(line.popleft())  # noqa: PERF401 # mostly one, or hundreds
        if self._turns:
            return [self._who_goes(entry) for entry in taken]
        return [entry[3] for entry in taken]

    def _who_goes(self, place: Entry) -> Task:
        """The task that takes a place that has come."""
        session = place[3].session
        turns = self._turns.get(session)
        if turns is None:
            return place[3]
        return self._take(turns, place)

    def _take(self, turns: Turns, place: Entry) -> Task:
        task = turns.take(place)
        task.priority = -place[1]
        self._prune(task.session)
        return task

    def with_priorities(self) -> tuple[Session, ...]:
        """The sessions here whose tasks have priorities."""
        return tuple(self._turns)

    def first_of(self, session: Session) -> Task | None:
        """The next task of such a session."""
        turns = self._turns.get(session)
        return None if turns is None else turns.first()

    def take_first_of(self, session: Session) -> Task:
        """Takes it out, with the best of the session's places."""
        turns = self._turns[session]
        place = cast("Entry", turns.places[0])
        self._remove_place(place)
        return self._take(turns, place)

    def _place(self, entry: Entry) -> int | None:
        """Where it stands in the line."""
        place = bisect_left(self._line, entry)
        return place if place < len(self._line) and self._line[place] == entry else None


def _entry(task: Task) -> Entry:
    return (-task.kind.depth, -task.priority, task.order, task)
