"""Governors without a connection that may come back, and how long they have for that."""

from __future__ import annotations

from rain.base.ids import GovernorId
from rain.graph.governor import Away, Governor
from rain.server.core import resuming, waiting
from rain.server.core.messages import (
    DismissGovernor,
    GovernorAway,
    GovernorResumed,
    ServerReturned,
    ServerStoodStill,
)
from rain.server.core.returning_clients import MOST_RETURNS
from rain.server.core.state import State


def apply(
    state: State, event: GovernorAway | GovernorResumed | ServerReturned | ServerStoodStill
) -> None:
    """Applies an event: a connection was lost or resumed, or the server was away itself."""
    match event:
        case GovernorAway(governor_id, cause):
            _gone_away(state, governor_id, cause)
        case GovernorResumed(governor_id, heard, last):
            _resumed(state, governor_id, heard, last)
        case ServerReturned():
            _server_returned(state)
        case ServerStoodStill(seconds):
            _server_stood_still(state, seconds)


def _gone_away(state: State, governor_id: GovernorId, cause: str) -> None:
    """The connection of a governor broke: for a while it may come back."""
    governor = state.graph.governors.get(governor_id)
    if governor is not None:
        _expect(state, governor, state.settings.governor_grace, cause, 0)


def _server_returned(state: State) -> None:
    """The server is there again, and all governors and clients may come back.

    Each restart gives them the full time again, because a server cannot know how long the previous
    one was there. But a server that dies again and again does not wait forever.
    """
    for governor in state.graph.governors.values():
        returns = 1 if governor.away is None else governor.away.returns + 1
        seconds = state.settings.governor_silence if returns <= MOST_RETURNS else 0.0
        _expect(state, governor, seconds, "the server was away", returns)
    state.asked.all_away(state.now, state.settings.client_grace)


def _server_stood_still(state: State, seconds: float) -> None:
    """The server has received nothing in that time, so governors and clients get it in addition.
    Their messages wait at the connections, and may arrive only after this turn.
    """
    for governor in state.graph.governors.values():
        governor.heard = min(governor.heard + seconds, state.now)
    state.asked.all_later(seconds)


def _expect(state: State, governor: Governor, seconds: float, why: str, returns: int) -> None:
    governor.heard = state.now
    ordered = governor.ordered if governor.away is None else governor.away.ordered
    governor.away = Away(state.now, seconds, why, ordered, returns)
    state.silence_due = min(state.silence_due, state.now + seconds)


def _resumed(state: State, governor_id: GovernorId, heard: int, last: int) -> None:
    """A governor that was away is there again."""
    governor = state.graph.governors.get(governor_id)
    if governor is None:  # it was given up in the same turn
        state.emit(DismissGovernor(governor_id, resuming.GIVEN_UP))
        return
    governor.heard, governor.away, governor.awaited = state.now, None, last
    resuming.hear(governor, heard)
    state.order_again(governor_id, resuming.missed(governor, heard))
    waiting.fetch_again(state)
