"""Looks for circles of futures (rain/graph/circles.py) in sessions whose clients have left.

Claims end in many ways, and most of them close no circle. So circles are not looked for whenever a
claim ends, but soon after a client has left a session, and then from time to time while there are
such sessions.
"""

from __future__ import annotations

from math import inf

from rain.graph import circles
from rain.server.core.state import State

SOON = 1.0
"""Seconds from the time when a session was left to the look: other clients leave with its own."""

PAUSE = 10.0
"""Seconds between two looks, at least,"""

NODES_A_SECOND = 1_000
"""and at most as many nodes are looked at: this takes about a thousandth of the time."""

MOST = 50_000
"""Nodes that one look goes through, which takes less than a tenth of a second. If there are more,
nothing of them goes: they may be fewer the next time."""


def was_left(state: State) -> None:
    """One more session was left."""
    state.circles_due = min(state.circles_due, state.now + SOON)


def release_unreached(state: State) -> None:
    """Releases the circles that are not reached."""
    if not state.left:
        state.circles_due = inf
        return
    found, looked_at = circles.unreached(state.left.keys(), MOST)
    state.circles_due = state.now + max(PAUSE, looked_at / NODES_A_SECOND)
    state.release(circles.cut(found))
