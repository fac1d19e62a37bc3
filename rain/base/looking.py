"""When to look again for a server that is away.

A look costs little, and one that comes late lengthens the pause that a user sees. So the next look
comes after a quarter of the time for which the server has been away, or sooner.
"""

from __future__ import annotations

SHARE = 0.25
SHORTEST, LONGEST = 0.1, 2.0


def until_next_look(away: float, chance: float) -> float:
    """Seconds to wait when the server has been away for that long.

    `chance`, from 0 to 1, parts those that have lost it at the same moment.
    """
    return min(max(SHARE * away, SHORTEST), LONGEST) * (1 + chance) / 2
