"""Chooses the holder from which a governor fetches a large object: a near one, or one with room to
send.

A holder sends one object to few others at the same time. A reader that finds no room waits until
another reader has received the object, and fetches it there. So the object spreads as a tree. On
one machine only one governor fetches it, and the others link to its file.

Several objects that have the same holders do not all come from the first of these: with which of
them the search begins depends on the object.

Nothing is counted from turn to turn: each copy has the governor that it comes from.
"""

from __future__ import annotations

from heapq import heappop, heappush
from zlib import crc32

from attrs import frozen

from rain.base.address import LOOPBACK, split_address
from rain.base.copies import CopyRow
from rain.base.wire.orders import SERVER
from rain.graph import DataObject
from rain.graph.copy import AT_SERVER, Copy

TREE_FROM = 1 << 20
"""Smaller objects arrive before others could learn of another source."""

SENDS_AT_ONCE = 2
"""To how many machines a holder sends one object at the same time.

With one, a slow reader would hold up all others; with more, every reader waits longer.
"""


MOST_OTHERS = 2
"""As many other holders are named beside the one that sends."""


@frozen
class Sender:
    """A holder of all of an object: a governor, or the server."""

    id: int  # the incarnation, or `AT_SERVER`
    source: str  # how readers are told


class Senders:
    """The current holders of one object, and how busy each is."""

    def __init__(self, data_object: DataObject) -> None:
        self._near: dict[str, Sender] = {}  # by machine
        self._coming: set[str] = set()  # machines that it is on its way to
        sends: dict[int, int] = {}
        holders: list[Sender] = []
        for copy in data_object.copies:
            governor = copy.governor
            if copy.is_held:
                holders.append(Sender(governor.id, governor.source))
                self._near.setdefault(_machine(copy), holders[-1])
            elif copy.row is CopyRow.COMING and copy.source:
                sends[copy.source] = sends.get(copy.source, 0) + 1
                self._coming.add(_machine(copy))
        if len(holders) > 1:  # else the first one would send all that they have in common
            first = crc32(data_object.id.to_bytes(8)) % len(holders)
            holders = [*holders[first:], *holders[:first]]
        if data_object.spooled:
            holders.append(Sender(AT_SERVER, SERVER))  # the last of those that are as busy
            self._near.setdefault(LOOPBACK, holders[-1])
        self._holders = holders
        self._free: list[tuple[int, int]] = []  # how many it sends to, and its place in the list
        for place, holder in enumerate(holders):
            if sends.get(holder.id, 0) < SENDS_AT_ONCE:
                heappush(self._free, (sends.get(holder.id, 0), place))

    def take(self, copy: Copy) -> Sender | None:
        """The holder that sends to this governor now; None if it has to wait for one with room."""
        machine = _machine(copy)
        near = self._near.get(machine)
        if near is not None:
            return near
        if machine in self._coming or not self._free:
            return None
        sends, place = heappop(self._free)
        if sends + 1 < SENDS_AT_ONCE:
            heappush(self._free, (sends + 1, place))
        self._coming.add(machine)
        return self._holders[place]

    def spelled(self, sender: Sender, copy: Copy) -> str:
        """The sources for the reader: the sender, then others that go on if the sender breaks."""
        place = self._holders.index(sender)
        others = [
            one
            for one in (*self._holders[place + 1 :], *self._holders[:place])
            if one.id != copy.governor.id
        ]
        return " ".join([sender.source, *(one.source for one in others[:MOST_OTHERS])])

    def after(self, failures: int, copy: Copy) -> Sender | None:
        """The holder to try after this number of failures: each in turn, however busy; or none."""
        others = [one for one in self._holders if one.id != copy.governor.id]
        return others[failures % len(others)] if others else None


"""Governors that are reached there are on the server's machine."""


def _machine(copy: Copy) -> str:
    return split_address(copy.governor.address)[0]
