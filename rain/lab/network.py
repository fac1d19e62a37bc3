"""The network: every governor has an upload and a download, and transfers share them fairly.

Fair means max-min: nobody can get more without somebody who has less, or as little, getting less
still. Progressive filling finds it: the link with the smallest share for each of its transfers
fixes theirs, and what they leave is shared by the others.

A transfer that starts or ends changes only what hangs together with it, by links that transfers
have in common. Only that part is computed anew, and once for all changes of one instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace

from attrs import Factory, define


@define(eq=False)
class Transfer:
    """Bytes on their way between two governors."""

    number: int
    source: int
    target: int
    left: float  # bytes, when its rate was last changed
    rate: float = 0.0  # bytes per second
    since: float = 0.0  # when its rate was last changed
    version: int = 0  # counts the changes; outdated entries of the heap are known by it
    done: bool = False


@define(eq=False)
class Link:
    """An upload or a download, and who uses it."""

    number: int
    capacity: float
    transfers: dict[Transfer, None] = Factory(dict)


class Network:
    """All transfers, and when each of them will be complete."""

    def __init__(self, uploads: Iterable[float], downloads: Iterable[float]) -> None:
        self._up = [Link(2 * i, capacity) for i, capacity in enumerate(uploads)]
        self._down = [Link(2 * i + 1, capacity) for i, capacity in enumerate(downloads)]
        self._ends: list[tuple[float, int, int, Transfer]] = []
        self._changed: dict[Link, None] = {}
        self._count = 0
        self.active = 0

    def start(self, source: int, target: int, size: float, now: float) -> Transfer:
        """A new transfer; how fast it is comes out with the next `settle`."""
        self._count += 1
        self.active += 1
        transfer = Transfer(self._count, source, target, float(size), since=now)
        for link in (self._up[source], self._down[target]):
            link.transfers[transfer] = None
            self._changed[link] = None
        return transfer

    def stop(self, transfer: Transfer) -> None:
        """Nobody wants it any more."""
        if not transfer.done:
            self._remove(transfer)

    def _remove(self, transfer: Transfer) -> None:
        transfer.done = True
        self.active -= 1
        for link in (self._up[transfer.source], self._down[transfer.target]):
            del link.transfers[transfer]
            self._changed[link] = None

    def settle(self, now: float) -> None:
        """Shares the links anew, after all starts and ends of this instant."""
        if self._changed:
            links = self._connected()
            self._changed.clear()
            self._fill(links, now)

    def next_end(self) -> float:
        """When the next transfer will be complete; everything is settled."""
        ends = self._ends
        while ends:
            time, _, version, transfer = ends[0]
            if transfer.version == version and not transfer.done:
                return time
            heappop(ends)
        return float("inf")

    def take_ended(self, now: float) -> list[Transfer]:
        """The transfers that are complete now, in the order in which they were started."""
        ended: list[Transfer] = []
        while self.next_end() <= now:
            transfer = heappop(self._ends)[3]
            self._remove(transfer)
            ended.append(transfer)
        return ended

    def transfers(self) -> list[Transfer]:
        """All that are under way."""
        return [transfer for link in self._up for transfer in link.transfers]

    def _connected(self) -> list[Link]:
        """The changed links, and all that hang together with them."""
        found = dict.fromkeys(self._changed)
        links = list(found)
        up, down = self._up, self._down
        for link in links:  # grows while it is walked
            outgoing = not link.number & 1
            for transfer in link.transfers:
                other = down[transfer.target] if outgoing else up[transfer.source]
                if other not in found:
                    found[other] = None
                    links.append(other)
        return links

    def _fill(self, links: list[Link], now: float) -> None:
        room: dict[int, float] = {}
        unfixed: dict[int, int] = {}
        heap: list[tuple[float, int, Link]] = []
        for link in links:
            count = len(link.transfers)
            if count:
                room[link.number] = link.capacity
                unfixed[link.number] = count
                heap.append((link.capacity / count, link.number, link))
        heapify(heap)
        fixed: set[Transfer] = set()  # only asked, never iterated
        floor = 0.0  # shares only grow, but for the rounding
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
            floor = share
            unfixed[number] = 0
            outgoing = not number & 1
            for transfer in link.transfers:
                if transfer in fixed:
                    continue
                fixed.add(transfer)
                other = 2 * transfer.target + 1 if outgoing else 2 * transfer.source
                room[other] -= share
                unfixed[other] -= 1
                if transfer.rate != share:
                    self._set_rate(transfer, share, now)

    def _set_rate(self, transfer: Transfer, rate: float, now: float) -> None:
        transfer.left = max(transfer.left - transfer.rate * (now - transfer.since), 0.0)
        transfer.rate = rate
        transfer.since = now
        transfer.version += 1
        end = now + transfer.left / rate
        heappush(self._ends, (end, transfer.number, transfer.version, transfer))
