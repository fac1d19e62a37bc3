"""How long a peer may be silent. Pure.

The end of a connection is usually heard of. It is not when the link between two hosts is cut, when
something in between swallows what is said, or when the other program was stopped: then everybody
would wait for ever. So both sides say that they live once in a `BEAT`, and a side that has heard
nothing at all for its limit gives the connection up.

Silence is counted in beats during which this side could listen, and is not the difference of two
times. A program that was stopped itself, or was busy with something else for an hour, has not
listened meanwhile: it finds what was said when it goes on.
"""

from __future__ import annotations

BEAT = 1.0
"""Seconds between two signs of life."""

SILENCE_LIMIT = 30.0
"""Seconds of silence after which a client or a governor gives its server up, unless told otherwise.

The server takes a governor for lost before: when only the link is cut, its tasks are planned anew
first, and are stopped by their governor then.
"""

SHORTEST_LIMIT = 3 * BEAT


def check_limit(seconds: float, name: str) -> float | None:
    """A limit as it is given by users: None for 0, which stands for never; ValueError."""
    if not seconds:
        return None
    if not seconds >= SHORTEST_LIMIT:
        raise ValueError(
            f"{name} is {seconds:g}; the other side gives a sign of life every {BEAT:g} s,"
            f" so it must be {SHORTEST_LIMIT:g} or more, or 0 for never"
        )
    return seconds


class Silence:
    """For how long the other side has been silent, and how long it may be. Pure."""

    def __init__(self, limit: float | None, beat: float = BEAT) -> None:
        self.seconds = 0.0
        self._limit = limit
        self._beat = beat

    def is_too_long(self, passed: float, *, heard: bool) -> bool:
        """After `passed` seconds in which something was heard, or nothing."""
        self.seconds = 0.0 if heard else self.seconds + min(passed, 2 * self._beat)
        return self._limit is not None and self.seconds >= self._limit
