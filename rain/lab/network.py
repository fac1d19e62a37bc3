"""The network: every governor has an upload and a download link, which transfers share fairly.

Fair means max-min fair: no transfer can get more without taking from one that has the same or less.
Each transfer has a bottleneck, one of its two links; that link is full, and no other transfer gets
more of it. So each link has a *level*: the rate of every transfer whose bottleneck it is. The rate
of a transfer is the lower of the levels of its two links.

A transfer that starts or ends changes the levels of its links. This may change the levels of links
that share transfers with them, and so on; usually this ends after a few steps. If it does not,
progressive filling computes the levels of the whole connected component: the link with the lowest
share fixes the rates of its transfers, and the others share the rest. All changes of one instant
are settled together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

from attrs import Factory, define

CLOSE = 1e-12
"""Levels with a smaller relative difference count as equal."""

PATIENCE = 8
"""How often, on average, each level of a component may change before progressive filling."""

FULL = inf
"""The level of a link that is no bottleneck."""


@define(eq=False)
class Transfer:
    """A transfer between two governors."""

    number: int
    source: int
    target: int
    left: float  # bytes left when its rate last changed
    rate: float = 0.0  # bytes per second
    since: float = 0.0  # when its rate was last changed
    version: int = 0  # counts changes, to recognise outdated heap entries
    done: bool = False


@define(eq=False)
class NetworkLink:
    """An upload or a download link with its transfers."""

    number: int
    capacity: float
    level: float = FULL
    transfers: dict[Transfer, None] = Factory(dict)


class Network:
    """All transfers, and when each will be complete."""

    def __init__(self, uploads: Iterable[float], downloads: Iterable[float]) -> None:
        self._up = [NetworkLink(2 * i, capacity) for i, capacity in enumerate(uploads)]
        self._down = [NetworkLink(2 * i + 1, capacity) for i, capacity in enumerate(downloads)]
        self._ends: list[tuple[float, int, int, Transfer]] = []
        self._changed: dict[NetworkLink, None] = {}
        self._fresh: list[Transfer] = []
        self._count = 0
        self.active = 0

    def start(self, source: int, target: int, size: float, now: float) -> Transfer:
        """Starts a transfer; the next `settle` sets its rate."""
        self._count += 1
        self.active += 1
        transfer = Transfer(self._count, source, target, float(size), since=now)
        self._fresh.append(transfer)
        for link in (self._up[source], self._down[target]):
            link.transfers[transfer] = None
            self._changed[link] = None
        return transfer

    def stop(self, transfer: Transfer) -> None:
        """Stops a transfer that is no longer needed."""
        if not transfer.done:
            self._remove(transfer)

    def _remove(self, transfer: Transfer) -> None:
        transfer.done = True
        self.active -= 1
        for link in (self._up[transfer.source], self._down[transfer.target]):
            del link.transfers[transfer]
            self._changed[link] = None

    def settle(self, now: float) -> None:
        """Recomputes the rates after all starts and ends of this instant."""
        if not self._changed:
            return
        concerned = self._mend()
        if concerned is None:
            links = self._connected()
            _fill_levels(self._up, self._down, links)
            concerned = {transfer: None for link in links for transfer in link.transfers}
        concerned.update(dict.fromkeys(self._fresh))
        self._changed.clear()
        self._fresh.clear()
        for transfer in concerned:
            rate = min(self._up[transfer.source].level, self._down[transfer.target].level)
            if rate != transfer.rate and not transfer.done:
                self._set_rate(transfer, rate, now)

    def _mend(self) -> dict[Transfer, None] | None:
        """Corrects levels one by one until they are consistent; returns the affected transfers.

        Returns None if that takes too long.
        """
        up, down = self._up, self._down
        queue = deque(self._changed)
        queued = set(queue)  # never iterated
        seen: set[NetworkLink] = set()
        concerned: dict[Transfer, None] = {}
        steps = 0
        while queue:
            link = queue.popleft()
            queued.remove(link)
            seen.add(link)
            steps += 1
            if steps > PATIENCE * len(seen) + 2 * PATIENCE:
                return None
            others = (
                [down[transfer.target] for transfer in link.transfers]
                if not link.number & 1
                else [up[transfer.source] for transfer in link.transfers]
            )
            before, level = link.level, _level(link.capacity, [other.level for other in others])
            lower = min(before, level)
            if before == level or abs(before - level) <= CLOSE * lower:
                continue
            link.level = level
            concerned.update(link.transfers)
            for other in others:
                # A link that gives less than this one, before and now, is not affected.
                if lower < other.level and other not in queued:
                    queued.add(other)
                    queue.append(other)
        return concerned

    def next_end(self) -> float:
        """When the next transfer will be complete; everything is settled."""
        ends = self._ends
        while ends:
            time, _, version, transfer = ends[0]
            if transfer.version == version and not transfer.done:
                return time
            heappop(ends)
        return inf

    def take_ended(self, now: float) -> list[Transfer]:
        """The transfers that are complete now, in the order in which they were started."""
        ended: list[Transfer] = []
        while self.next_end() <= now:
            transfer = heappop(self._ends)[3]
            self._remove(transfer)
            ended.append(transfer)
        return ended

    def transfers(self) -> list[Transfer]:
        """All transfers in progress."""
        return [transfer for link in self._up for transfer in link.transfers]

    def _connected(self) -> list[NetworkLink]:
        """The changed links and all links connected to them."""
        found = dict.fromkeys(self._changed)
        links = list(found)
        up, down = self._up, self._down
        for link in links:  # grows during the loop
            outgoing = not link.number & 1
            for transfer in link.transfers:
                other = down[transfer.target] if outgoing else up[transfer.source]
                if other not in found:
                    found[other] = None
                    links.append(other)
        return links

    def _set_rate(self, transfer: Transfer, rate: float, now: float) -> None:
        transfer.left = max(transfer.left - transfer.rate * (now - transfer.since), 0.0)
        transfer.rate = rate
        transfer.since = now
        transfer.version += 1
        end = now + transfer.left / rate
        heappush(self._ends, (end, transfer.number, transfer.version, transfer))


def _level(capacity: float, others: list[float]) -> float:
    """The rate of each transfer of a link; at their other ends they get no more than `others`."""
    left, count = capacity, len(others)
    for other in sorted(others):
        share = left / count
        if other > share:
            return share
        left -= other
        count -= 1
    return FULL


def _fill_levels(up: list[NetworkLink], down: list[NetworkLink], links: list[NetworkLink]) -> None:
    """Progressive filling of a connected component of links."""
    room: dict[int, float] = {}
    unfixed: dict[int, int] = {}
    heap: list[tuple[float, int, NetworkLink]] = []
    for link in links:
        link.level = FULL
        count = len(link.transfers)
        if count:
            room[link.number] = link.capacity
            unfixed[link.number] = count
            heap.append((link.capacity / count, link.number, link))
    heapify(heap)
    fixed: set[Transfer] = set()  # never iterated
    floor = 0.0  # shares only grow, except for rounding
    while heap:
        noted, number, link = heap[0]
        count = unfixed[number]
        if not count:
            heappop(heap)
            continue
        share = max(room[number] / count, floor)
        if share > noted:
            heapreplace(heap, (share, number, link))
            continue
        heappop(heap)
        link.level = floor = share
        unfixed[number] = 0
        for transfer in link.transfers:
            if transfer not in fixed:
                fixed.add(transfer)
                other = down[transfer.target] if not number & 1 else up[transfer.source]
                room[other.number] -= share
                unfixed[other.number] -= 1
