"""Remembers for a while which holders of data cannot be reached, so that readers ask the server
instead.

A governor behind a NAT or a firewall can connect to others, but nobody can connect to it. A reader
that has noticed this asks the server, which reaches every governor, and tries the direct way again
from time to time. No I/O: time is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from rain.base.wire.orders import SERVER

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 600.0
"""Seconds until the next attempt; doubled after each failed one."""

PATIENCE = 5.0
"""Seconds without a byte after which a reader asks the next source; the last one is the server."""

UNUSED = 60.0
"""Seconds after which an unreachable holder is forgotten if nobody has needed it since: mostly its
governor has ended.
"""

MOST = 4096
"""Closed ways that are remembered at most. The oldest of them goes first, and is found again."""


@frozen
class ClosedWay:
    """A holder that could not be connected to."""

    why: str
    pause: float  # seconds until the next look
    due: float  # when the next transfer looks again


class Ways:
    """The closed ways of one program, by holder. All others are taken for open."""

    def __init__(self) -> None:
        self._closed: dict[str, ClosedWay] = {}

    def begins_try(self, holder: str, now: float) -> bool:
        """Whether the caller is to connect to this holder, and then says what came of it.

        Only one transfer at a time tries an unreachable holder again, so that the others do not
        wait: the next try is due later from now on.
        """
        way = self._closed.get(holder)
        if way is None:
            return True
        if now < way.due:
            return False
        pause = min(2 * way.pause, LONGEST_PAUSE)
        self._closed[holder] = evolve(way, pause=pause, due=now + pause)
        return True

    def failed(self, holder: str, why: str, now: float) -> None:
        """A try to connect has failed: of several at a time, the first one counts."""
        way = self._closed.get(holder)
        if way is not None:
            self._closed[holder] = evolve(way, why=why)
            return
        self._forget_unused(now)
        if len(self._closed) >= MOST:
            del self._closed[next(iter(self._closed))]
        self._closed[holder] = ClosedWay(why, FIRST_PAUSE, now + FIRST_PAUSE)

    def opened(self, holder: str) -> None:
        """A try has succeeded."""
        self._closed.pop(holder, None)

    def why_closed(self, holder: str) -> str:
        """ "" if it is open."""
        way = self._closed.get(holder)
        return "" if way is None else way.why

    def closed(self, now: float) -> dict[str, str]:
        """Why each closed way is closed."""
        self._forget_unused(now)
        return {holder: way.why for holder, way in self._closed.items()}

    def _forget_unused(self, now: float) -> None:
        unused = [one for one, way in self._closed.items() if now > way.due + UNUSED]
        for holder in unused:
            del self._closed[holder]


def with_relay(sources: Sequence[str]) -> list[str]:
    """The sources to ask for an object, in order: its holders, and then the server.

    The server can relay for all, since each governor has a connection to it. A holder that is known
    to be unreachable fails at once, and any reachable holder comes before the relay.
    """
    return [*sources] if SERVER in sources else [*sources, SERVER]
