"""How long a scheduler that was interrupted is not asked again, or a governor in trouble.

Whoever takes too long will often do so in the next run, too, and while a scheduler runs the server
does nothing else. So each rest is twice as long as the one before. The next one is short again when
the scheduler has planned for a long time since the last.
"""

from __future__ import annotations

from attrs import define

LONGEST = 60
"""No rest is longer than so many times what a run may take."""

SOUND = 10
"""Who has planned for so many times as long as it had rested begins with a short rest."""


@define
class Rest:
    """The last rest of a scheduler."""

    limit: float  # seconds that a run may take; the first rest is as long
    length: float = 0.0
    until: float = float("-inf")
    why: str = ""

    def begin(self, now: float) -> None:
        """The scheduler was interrupted in a run that has begun now, and has taken all it may."""
        if self.length and now < self.until + SOUND * self.length:
            self.length = min(2 * self.length, LONGEST * self.limit)
        else:
            self.length = self.limit
        self.until = now + self.limit + self.length
