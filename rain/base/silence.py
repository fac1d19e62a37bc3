"""Detects peers that are silent for too long. No I/O.

The end of a connection is usually reported. It is not if the link between two hosts is cut, if
something in between drops packets, or if the other program was stopped: then a side would wait
forever. So both sides send a heartbeat every `BEAT` seconds, and a side that has received nothing
at all for its limit gives up the connection.

Silence is counted in beats during which this side could receive, not as the difference of two
times. A program that was itself stopped, or was busy for an hour, could not receive meanwhile: it
finds the messages when it continues.
"""

from __future__ import annotations

from attrs import frozen

BEAT = 1.0
"""Seconds between two heartbeats."""

SILENCE_LIMIT = 30.0
"""Default seconds of silence after which a client or a governor gives up its server.

The server counts a governor as lost earlier: if only the link is cut, the tasks are first planned
again elsewhere, and then the governor stops them.
"""

AWAY_LIMIT = 600.0
"""Default seconds for which clients and governors look for a server that comes back."""

SHORTEST_LIMIT = 3 * BEAT

SUSPICION = 3 * BEAT
"""Seconds of silence after which a peer looks whether another server leads the cluster by now."""

REPLACED = "it is silent, and another server leads the cluster"
"""Why a connection is given up before its server was silent for too long."""


@frozen
class ClientLimits:
    """For how many seconds a client waits for its server: see the arguments of `Client`."""

    server_timeout: float | None = SILENCE_LIMIT  # until one that says nothing is lost; None: never
    server_away: float = AWAY_LIMIT  # for one that comes back
    wait_for_server: float = 0.0  # for one that is not there when the client is made
    connect: float = 10.0  # for one try to connect


def check_limit(seconds: float, name: str) -> float | None:
    """Checks a limit given by a user; returns None for 0, which means never; raises ValueError."""
    if not seconds:
        return None
    if not seconds >= SHORTEST_LIMIT:
        raise ValueError(
            f"{name} is {seconds:g}; the other side sends a heartbeat every {BEAT:g} s,"
            f" so it must be {SHORTEST_LIMIT:g} or more, or 0 for never"
        )
    return seconds


class Silence:
    """How long the other side has been silent, and how long it may be."""

    def __init__(self, limit: float | None, beat: float = BEAT) -> None:
        self.seconds = 0.0
        self._limit = limit
        self._beat = beat

    def is_too_long(self, passed: float, *, heard: bool) -> bool:
        """Adds `passed` seconds with or without messages; returns whether the limit is reached."""
        self.seconds = 0.0 if heard else self.seconds + min(passed, 2 * self._beat)
        return self._limit is not None and self.seconds >= self._limit

    @property
    def is_suspicious(self) -> bool:
        """Whether the other side may have been replaced."""
        return self.seconds >= SUSPICION
