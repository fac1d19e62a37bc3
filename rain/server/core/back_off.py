"""Back-off of a scheduler that was interrupted, or of a governor that could not start tasks.

A scheduler that took too long will often do so again in its next run, and while it runs the server
does nothing else. So each rest is twice as long as the previous one. After a long time without
interruption the next rest is short again.
"""

from __future__ import annotations

from math import inf

from attrs import define

LONGEST = 60
"""The longest rest, as a multiple of the first one."""

SOUND = 10
"""After this many times the last rest without interruption the next rest is short again."""


@define
class Rest:
    """The last rest of a scheduler or a governor."""

    limit: float  # the first rest in seconds; of a scheduler it is the time limit of a run
    length: float = 0.0
    until: float = -inf
    why: str = ""

    def begin(self, now: float) -> None:
        """Starts a rest."""
        if self.length and now < self.until + SOUND * self.length:
            self.length = min(2 * self.length, LONGEST * self.limit)
        else:
            self.length = self.limit
        self.until = now + self.limit + self.length
