"""Decides when to look for reference cycles of futures (rain/graph/circles.py).

Claims end all the time, and most of them leave no cycle. So the search does not run for each
suspect, but a little later for all suspects that have come in the meantime.
"""

from __future__ import annotations

from math import inf

from rain.graph import circles
from rain.server.core.state import State

PAUSE = 1.0
"""The least seconds from a suspect to the search, and from one search to the next,"""

CLAIMS_A_SECOND = 1_000
"""and at most this many claims are visited per second: this takes about a thousandth of the
time.
"""

MOST = 50_000
"""Claims that one search visits, which takes less than a tenth of a second. A cycle is removed only
if fewer claims lead to it.
"""


def plan_look(state: State) -> None:
    """Plans a search, because there are suspects."""
    if state.circles_due == inf:
        state.circles_due = state.now + PAUSE


def look(state: State) -> None:
    """Releases cycles that no client can reach."""
    free, looked_at = circles.cut(state.graph, MOST)
    state.circles_due = inf
    if looked_at:  # else there has been no suspect since the last look
        state.circles_due = state.now + max(PAUSE, looked_at / CLAIMS_A_SECOND)
    state.release(free)
