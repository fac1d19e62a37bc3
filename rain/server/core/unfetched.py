"""Handles objects that a governor cannot fetch.

Each holder is tried in turn. If no governor delivers an object, it is made again; an object of the
server is offered again with exponential back-off. Both are limited. If the object still does not
arrive, the tasks that read it there go elsewhere, and the governor rests: the network may be cut
for a while. When that has happened several times, a firewall may be the reason, and the tasks fail
with an error that names both ends.
"""

from __future__ import annotations

from rain.base.copies import CopyMove
from rain.base.ids import ObjectId, spell
from rain.base.runs import RunCause
from rain.base.wire.update import TaskFailure
from rain.graph import Governor, loss, planning
from rain.graph.copy import Copy, move_copy
from rain.server.core import failing, handing_back, speculation
from rain.server.core.state import State

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds before the server offers its copy again; doubled each time."""


def apply(state: State, governor: Governor, object_id: ObjectId) -> None:
    """A copy could not be fetched: tries another source, and finally makes the object again."""
    data_object = state.graph.objects.get(object_id)
    copy = None if data_object is None else governor.objects.get(data_object)
    if data_object is None or copy is None or not copy.is_known:
        state.ignored += 1
        return
    if copy.is_held:
        # The report is about a copy that was dropped and ordered again meanwhile.
        if data_object.located == (governor,) and not data_object.is_at_server:
            failing.lost(state, loss.lose_copy(data_object, governor, state.now))
            return
        move_copy(data_object, governor, CopyMove.MISS)
    settings = state.settings
    copy.tries += 1
    if data_object.is_at_server:
        if copy.tries < settings.offer_tries:
            pause = min(FIRST_PAUSE * 2 ** (copy.tries - 1), LONGEST_PAUSE)
            state.fetches.postponed[copy] = state.now + pause
        else:
            _give_up(state, copy, "the server", f"after {copy.tries} tries")
    elif copy.tries < settings.fetch_tries:
        state.to_place[copy] = None
    else:
        _make_again(state, copy)


def _make_again(state: State, copy: Copy) -> None:
    """Makes an object again that its holders do not deliver."""
    data_object = copy.object
    rounds = state.fetches.make_again(copy)
    if rounds > state.settings.remake_rounds:
        holders = ", ".join(holder.address for holder in data_object.located)
        again = f"though it was made again {rounds - 1} times"
        _give_up(state, copy, holders, again)
        return
    for holder in data_object.located:
        failing.lost(state, loss.lose_copy(data_object, holder, state.now))


def _give_up(state: State, copy: Copy, source: str, how_often: str) -> None:
    """Hands back the tasks that wait for the object on this governor."""
    data_object, governor = copy.object, copy.governor
    state.fetches.is_over(copy)
    move_copy(data_object, governor, CopyMove.DROP)
    state.drop(data_object, governor)
    message = (
        f"the input {spell(data_object.id)} ({data_object.kind.label!r}) cannot be brought from"
        f" {source} to the governor {governor.address}, {how_often}: see the log of that governor,"
        " and whether it reaches the other end"
    )
    for task in list(data_object.consumers):
        if task.is_known and task.assigned is governor and not task.is_done:
            stopped = planning.stopped(task)
            failure = TaskFailure(task.id, stopped.run, message, cause=RunCause.NOT_STARTED)
            if task in state.graph.shadowed:
                state.stop(*stopped)
                speculation.has_failed(state, governor, task, failure)
                continue
            handing_back.out_of_reach(state, governor, task, failure)
            if task.is_known:  # else its session has failed, and the governor forgets the session
                state.stop(*stopped)


def offer_again(state: State) -> None:
    """Offers copies again whose pause is over."""
    state.to_place.update(dict.fromkeys(state.fetches.take_due(state.now)))
