"""The queue of objects to fetch: first the ones that the most urgent task waits for. No I/O.

Objects for which no task waits come last, in the order in which the server wants them. An object
without a known source is not in the queue.
"""

from __future__ import annotations

from heapq import heappop, heappush

from rain.base.wire.orders import LATER
from rain.governor.core.nodes import LAST_RANK, DataObject, Rank
from rain.governor.core.tables import ObjectRow

_REMOTE = ObjectRow.REMOTE


class FetchQueue:
    """The queue. When an object becomes more urgent, its old entry stays and is skipped."""

    def __init__(self) -> None:
        self._places: list[tuple[Rank, int, DataObject]] = []
        self.ranks: dict[DataObject, Rank] = {}  # of all that are in the line
        self._added = 0

    def __contains__(self, target: DataObject) -> bool:
        return target in self.ranks

    def add(self, target: DataObject) -> None:
        """The object can be fetched now; tasks may wait for it already."""
        rank = min((task.rank for task in target.waiting or ()), default=LAST_RANK)
        self.ranks.pop(target, None)
        self._push(target, rank)

    def prefer(self, target: DataObject, rank: Rank) -> None:
        """Another task waits for it, which may be more urgent than those before."""
        known = self.ranks.get(target)
        if known is not None and rank < known:
            self._push(target, rank)

    def first(self) -> DataObject | None:
        """The object to fetch next."""
        places = self._places
        while places:
            rank, _, target = places[0]
            if self.ranks.get(target) == rank:
                if is_fetchable(target):
                    return target
                del self.ranks[target]
            heappop(places)
        return None

    def remove(self, target: DataObject) -> None:
        """Takes an object out, which is fetched now."""
        del self.ranks[target]

    def _push(self, target: DataObject, rank: Rank) -> None:
        self.ranks[target] = rank
        self._added += 1
        heappush(self._places, (rank, self._added, target))


def is_fetchable(target: DataObject) -> bool:
    """Whether an object is neither here nor on its way, and a source is known."""
    return target.row is _REMOTE and target.source != LATER
