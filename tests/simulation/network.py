"""Connections as TCP gives them: in order and none twice, late, and cut wherever it hurts.

What is said is something to do when it arrives. A connection that is cut loses what is on its way.
Its two ends notice at different times, and so messages of an old and of a new connection of one
peer mix.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.agenda import Agenda

LATENCY = 0.0002, 0.02
"""Seconds, between these."""


class Line:
    """One direction of a connection."""

    def __init__(self, agenda: Agenda) -> None:
        self.is_open = True
        self._agenda = agenda
        self._due = 0.0

    def say(self, do: Callable[[], object]) -> None:
        if self.is_open:
            agenda = self._agenda
            self._due = max(self._due, agenda.now + agenda.random.uniform(*LATENCY))
            agenda.at(self._due, lambda: self._arrive(do))

    def say_bytes(self, content: bytes, hear: Callable[[bytes], object]) -> None:
        """They arrive in pieces."""
        random = self._agenda.random
        while content:
            size = len(content) if random.random() < 0.8 else random.randint(1, len(content))
            piece, content = content[:size], content[size:]
            self.say(lambda piece=piece: hear(piece))  # type: ignore[misc]

    def _arrive(self, do: Callable[[], object]) -> None:
        if self.is_open:
            do()


class Connection:
    """Between the server and another process. `lost` is told to each of the ends, once."""

    def __init__(self, agenda: Agenda) -> None:
        self.up = Line(agenda)
        self.down = Line(agenda)
        self.lost_at_server: Callable[[str], object] = _nobody
        self.lost_at_peer: Callable[[str], object] = _nobody
        self._agenda = agenda
        self._is_cut = False

    def cut(self, cause: str, longest: float = 3.0) -> None:
        """Both ends notice it, each within `longest` seconds."""
        if not self._is_cut:
            self._is_cut = True
            self.up.is_open = self.down.is_open = False
            self._agenda.within(0.0, longest, lambda: self.lost_at_server(cause))
            self._agenda.within(0.0, longest, lambda: self.lost_at_peer(cause))

    def close_by_server(self, cause: str) -> None:
        """What was said down the line arrives, and then its end."""
        self.up.is_open = False
        self.down.say(lambda: self._close(cause))

    def close_by_peer(self, cause: str) -> None:
        """What was said up the line arrives, and then its end."""
        self.down.is_open = False
        self.up.say(lambda: self._close(cause))

    def _close(self, cause: str) -> None:
        self.cut(cause, 0.001)


def _nobody(_: str) -> None:
    """Nobody is at this end yet."""
