"""Passes on the consequences of the loss of a governor or of a copy."""

from __future__ import annotations

from rain.graph import loss
from rain.graph.handles import NOBODY
from rain.server import failing
from rain.server.state import State


def pass_on(state: State, lost: loss.Losses) -> None:
    """Passes on the consequences of a loss: stops, new work for the scheduler, failed sessions."""
    for governor, task, run in lost.stopped:
        if governor.id in state.graph.governors:
            state.stop(governor, task, run)
    state.news.unplanned.update(lost.unplanned)
    state.graph.leaving += [task for task in lost.cancelled if task.handles is NOBODY]
    for data_object, governor in lost.dropped:
        state.drop(data_object, governor)
    failing.unmakeable(state, lost.unmakeable.items())
