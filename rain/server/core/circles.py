"""When circles of futures are looked for (rain/graph/circles.py).

Claims end all the time, and most of them close no circle. So circles are not looked for whenever
there is a suspect, but soon afterwards for all that have come meanwhile.
"""

from __future__ import annotations

from math import inf

from rain.graph import circles
from rain.server.core.state import State

PAUSE = 1.0
"""Seconds from a suspect to the look, and from one look to the next, at least,"""

CLAIMS_A_SECOND = 1_000
"""and at most as many claims are looked at: this takes about a thousandth of the time."""

MOST = 50_000
"""Claims that one look goes through, which takes less than a tenth of a second. A circle goes if
fewer lead to it."""


def plan_look(state: State) -> None:
    """There are suspects."""
    if state.circles_due == inf:
        state.circles_due = state.now + PAUSE


def look(state: State) -> None:
    """Releases circles that nobody reaches."""
    free, looked_at = circles.cut(state.graph, MOST)
    state.circles_due = inf
    if looked_at:  # else there has been no suspect since the last look
        state.circles_due = state.now + max(PAUSE, looked_at / CLAIMS_A_SECOND)
    state.release(free)
