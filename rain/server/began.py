"""When tasks began, in the time of the server.

Governors tell when tasks began on a clock of their own, and with the message what that clock
shows. A message takes a while to arrive, and longer when the server is busy. The quickest one of a
governor shows best how the clocks differ. So all starts of one governor are moved by the same
difference, and what did not overlap there does not overlap here.
"""

from __future__ import annotations

from rain.base.wire.update import Update
from rain.graph.governor import Governor

DRIFT = 1e-4
"""Seconds by which two clocks may part in a second: by so much the difference may grow again."""


def difference(governor: Governor, update: Update, now: float) -> float:
    """The difference to be added to the times of this update."""
    seen = now - update.time
    grown = governor.clock + DRIFT * max(now - governor.clock_seen, 0.0)
    governor.clock, governor.clock_seen = min(seen, grown), now
    return governor.clock
