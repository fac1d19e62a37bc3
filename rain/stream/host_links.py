"""Measures the links of a sender to other hosts: their speeds, and the bytes that were sent."""

from __future__ import annotations

import threading
from functools import reduce

from rain.base.transfers import Transfers
from rain.base.wire.answers import DataLink
from rain.stream.packing import IN_BLOCKS_FROM, Gauge
from rain.stream.sockets import Connected, broken

MOST = 4096
"""Hosts that are remembered at most; the one that was found first is forgotten first."""

REPORTED = 16
"""Links of which others are told."""


class HostLink:
    """The link to one host, which several transfers use at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.rate: float | None = None  # bytes per second of one transfer; None if not known
        self.bytes = 0  # of objects
        self.sent = 0  # on the link
        self.packed = 0  # of objects, which were compressed
        self.seconds = 0.0  # of processors, for that

    def gauge(self) -> Gauge:
        """The gauge of one more transfer, which begins with what is known."""
        return Gauge(self.rate)

    def add(
        self, rate: float | None, length: int, sent: int, packed: int, seconds: float = 0.0
    ) -> None:
        """A transfer has ended, or was cut off; None if it was too short to tell the rate."""
        with self._lock:
            if rate is not None:
                self.rate = rate
            self.bytes += length
            self.sent += sent
            self.packed += packed
            self.seconds += seconds

    def total(self) -> Transfers:
        """All that went over it."""
        with self._lock:
            return Transfers(self.bytes, self.packed, self.sent, int(self.seconds * 1e6))


class HostLinks:
    """All links of one server of streams. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: dict[str, HostLink] = {}
        self._forgotten = Transfers()

    def of(self, connected: Connected) -> HostLink | None:
        """The link of a connection; None if both of its ends are on this machine."""
        try:
            host = connected.getpeername()[0]
        except OSError as error:  # the other side has gone
            raise broken(error) from None
        if host == connected.getsockname()[0]:
            return None
        with self._lock:
            link = self._links.get(host)
            if link is None:
                if len(self._links) >= MOST:
                    oldest = self._links.pop(next(iter(self._links)))
                    self._forgotten = self._forgotten.plus(oldest.total())
                link = self._links[host] = HostLink()
            return link

    def for_body(self, connected: Connected, length: int, *, blocks: bool) -> HostLink | None:
        """The link for a body of this length; None if it is to be sent as it is."""
        return self.of(connected) if blocks and length >= IN_BLOCKS_FROM else None

    def total(self) -> Transfers:
        """What went over all of them."""
        with self._lock:
            totals = map(HostLink.total, self._links.values())
            return reduce(Transfers.plus, totals, self._forgotten)

    def report(self) -> tuple[DataLink, ...]:
        """Those over which most was sent."""
        with self._lock:
            known = sorted(self._links.items(), key=_sent, reverse=True)[:REPORTED]
        return tuple(
            DataLink(host, link.bytes, link.packed, link.sent, int(link.rate or 0))
            for host, link in known
            if link.sent
        )


def _sent(item: tuple[str, HostLink]) -> int:
    return item[1].sent
