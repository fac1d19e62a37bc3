"""Chooses the pauses between attempts to reach a server that is away.

An attempt costs little, and a late one lengthens the pause that a user sees. So the next attempt
comes after at most a quarter of the time for which the server has been away.
"""

from __future__ import annotations

import random

SHARE = 0.25
SHORTEST, LONGEST = 0.1, 2.0


_random = random.Random()  # the program may have seeded its own


def seconds_until_next_look(away: float) -> float:
    """Seconds to wait before dialling a server again that has been away for `away` seconds."""
    return until_next_look(away, _random.random())


def until_next_look(away: float, chance: float) -> float:
    """Seconds to wait, as `seconds_until_next_look`, with the random number given.

    `chance`, from 0 to 1, separates peers that have lost the server at the same moment.
    """
    return min(max(SHARE * away, SHORTEST), LONGEST) * (1 + chance) / 2
