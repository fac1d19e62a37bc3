"""Decides which task of a session goes next, if some of its tasks have priorities.

A heap or a queue orders places. Each task brings one place, which is better or worse than the
places of other sessions. The user's priority only decides which task of the session gets the best
place of the session. So large numbers do not give a session more than its share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field
from sortedcontainers import SortedList

if TYPE_CHECKING:
    from rain.graph.task import Task

Place = tuple[Any, ...]
"""The best first; the last part is the task that has brought it, before which no two are equal."""


@define(eq=False, repr=False)
class Turns:
    """The members of a session, and the places that they may take: as many as there are members."""

    places: SortedList[Place] = field(init=False, factory=SortedList)
    # The next to go first.
    members: SortedList[tuple[int, int, Place]] = field(init=False, factory=SortedList)

    def __contains__(self, place: Place) -> bool:
        """Whether the task that has brought the place is a member."""
        return _member(place) in self.members

    def add(self, place: Place) -> None:
        """A task comes, and brings a place."""
        self.places.add(place)
        self.members.add(_member(place))

    def leave(self, place: Place) -> Place:
        """The task that has brought a place leaves without its turn; gives the place that it frees.

        That is its own, unless another one has taken it.
        """
        self.members.remove(_member(place))
        free = place if place in self.places else self.places[-1]
        self.places.remove(free)
        return free

    def first(self) -> Task:
        """The member that goes next."""
        task: Task = self.members[0][2][-1]
        return task

    def take(self, place: Place) -> Task:
        """The next member goes, and takes this place with it."""
        task = self.first()
        del self.members[0]
        self.places.remove(place)
        return task


def _member(place: Place) -> tuple[int, int, Place]:
    kind = place[-1].kind
    return -kind.depth, -kind.priority, place
