"""Fetches of governors from each other and from the server through the simulated network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rain.base.address import Source
from rain.base.wire.orders import SERVER
from rain.governor.core.effects import FetchObject
from rain.governor.core.events import FetchFailed, ObjectFetched
from rain.lab import ledger as kinds
from rain.lab.ledger import Ledger
from rain.lab.machine import Governor
from rain.lab.network import Network, Transfer
from rain.lab.timeline import Timeline
from rain.lab.workload import Cluster


class Transfers:
    """All fetches of one run, both waiting and in progress."""

    def __init__(
        self,
        cluster: Cluster,
        governors: Sequence[Governor],
        timeline: Timeline,
        ledger: Ledger,
        stir: Callable[[Governor], None],
    ) -> None:
        """`stir` is called with each governor that has news of its fetches."""
        self._cluster = cluster
        self._governors = governors
        self._by_source = {
            Source(governor.address, governor.id).spell(): governor for governor in governors
        }
        self._timeline = timeline
        self._ledger = ledger
        self._stir = stir
        links = [cluster.bandwidth] * (len(governors) + 1)  # the server is the last one
        self.network = Network(links, links)
        self._pulls: dict[Transfer, tuple[Governor, int]] = {}
        self._transfers: dict[tuple[Governor, int], Transfer] = {}

    def fetch(self, governor: Governor, effect: FetchObject) -> None:
        governor.fetches[effect.fetch] = effect
        governor.queue.append(effect.fetch)
        self._pull_next(governor)

    def _pull_next(self, governor: Governor) -> None:
        """Starts the fetches that may start now; the data begins to arrive after a round trip."""
        while governor.queue and governor.pulling < self._cluster.downloads:
            fetch = governor.queue.pop(0)
            if fetch in governor.fetches:
                governor.pulling += 1
                self._timeline.after(2 * self._cluster.latency, self._pull, (governor, fetch))

    def _pull(self, subject: tuple[Governor, int]) -> None:
        governor, number = subject
        fetch = governor.fetches.get(number)
        if fetch is None:
            governor.pulling -= 1  # it was stopped meanwhile
            self._pull_next(governor)
            return
        self._ledger.note(self._timeline.now, kinds.PULLED, governor.number, fetch.object)
        first, *_ = fetch.source.split()
        if first == SERVER:
            source = len(self._governors)
        else:
            holder = self._by_source[first]
            source = holder.number
            if holder.reactor.find(fetch.object) is None:
                self._end_pull(governor, number)
                governor.events.append(FetchFailed(number, "it is not there"))
                return
        transfer = self.network.start(source, governor.number, fetch.size, self._timeline.now)
        self._pulls[transfer] = subject
        self._transfers[subject] = transfer

    def end_due(self) -> None:
        """Hands over the fetches that have completed."""
        for transfer in self.network.take_ended(self._timeline.now):
            self._pulled(transfer)

    def _pulled(self, transfer: Transfer) -> None:
        governor, number = self._pulls[transfer]
        fetch = self._end_pull(governor, number)
        self._ledger.note(self._timeline.now, kinds.ARRIVED, governor.number, fetch.object)
        self._ledger.arrived(fetch.size)
        governor.events.append(ObjectFetched(number, governor.content(fetch.size)))
        self._ledger.count_stored(governor)

    def stop(self, governor: Governor, number: int) -> None:
        transfer = self._transfers.get((governor, number))
        if transfer is None:
            # It has not started, and will be found missing when it should; or it has ended at this
            # instant, and the governor has not heard of that yet.
            governor.fetches.pop(number, None)
        else:
            self.network.stop(transfer)
            self._end_pull(governor, number)

    def _end_pull(self, governor: Governor, number: int) -> FetchObject:
        transfer = self._transfers.pop((governor, number), None)
        if transfer is not None:
            del self._pulls[transfer]
        governor.pulling -= 1
        self._stir(governor)
        self._pull_next(governor)
        return governor.fetches.pop(number)
