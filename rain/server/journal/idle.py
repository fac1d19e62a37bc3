"""Decides whether a turn can be left out of the journal, because it has changed nothing.

An idle server makes a turn for the heartbeats of its governors twice per second, and runs its
scheduler once per second.
"""

from __future__ import annotations

from math import inf

from rain.server.core.reactor import TurnOutput
from rain.server.core.state import State
from rain.server.core.time_limits import may_take_back


def is_idle(state: State, now: float) -> bool:
    """Whether a turn without events would change nothing but the plans of its scheduler.

    This lists everything that goes on from turn to turn, or happens at a certain time.
    """
    graph, news = state.graph, state.news
    return not (
        news.has_work
        or news.has_updates
        or state.lessons
        or state.growing
        or state.touched
        or state.to_place
        or state.unsourced
        or state.later.waiting
        or any(not (session.tasks or session.objects) for session in state.left)
        or state.circles_due <= now
        or state.nested
        or state.infeasible
        or state.forced
        or state.fetches.postponed
        or state.back_off.until
        or state.drains
        or state.asked.due != inf
        or graph.pauses
        or graph.late_due != inf
        or graph.shadows
        or state.standing_by
        or graph.unneeded
        or graph.unwanted
        or graph.leaving
        or graph.departed
        or graph.remains
        or graph.unspooled
        or (graph.ending and may_take_back(state))
    )


def decided_nothing(output: TurnOutput) -> bool:
    """Whether a turn without events has changed nothing."""
    return not (output.effects or output.silent or any(output.plans or ()))
