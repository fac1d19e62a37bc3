"""Copies that a governor was told to fetch and could not.

Each holder is tried in turn. If no governor delivers an object, it is made again; an object of the
server is offered again with exponential back-off. Both are limited: if the object still does not
arrive, a firewall may be the reason, and the tasks there that read it fail with an error that names
both ends.
"""

from __future__ import annotations

from rain.base.ids import ObjectId, spell
from rain.base.wire import TaskFailure
from rain.graph import DataObject, Governor, loss, planning
from rain.server import failing, losses
from rain.server.state import State

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds before the server offers its copy again; doubled each time."""


def apply(state: State, governor: Governor, object_id: ObjectId) -> None:
    """A copy could not be fetched: tries another source, and finally makes the object again."""
    data_object = state.graph.objects.get(object_id)
    if data_object is None or governor not in data_object.assigned or not data_object.is_finished:
        state.ignored += 1
        return
    if governor in data_object.located:
        # The report is about a copy that was dropped and ordered again meanwhile.
        if data_object.located == governor.alone and not data_object.is_at_server:
            losses.pass_on(state, loss.lose_copy(data_object, governor, state.now))
            return
        data_object.unlocate(governor)
    key, settings = (data_object, governor), state.settings
    tries = state.unfetched[key] = state.unfetched.get(key, 0) + 1
    if data_object.is_at_server:
        if tries < settings.offer_tries:
            pause = min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE)
            state.postponed[key] = state.now + pause
        else:
            _give_up(state, data_object, governor, "the server", f"after {tries} tries")
    elif tries < settings.fetch_tries:
        state.to_place[key] = tries
    else:
        _make_again(state, data_object, governor)


def _make_again(state: State, data_object: DataObject, governor: Governor) -> None:
    """Makes an object again that its holders do not deliver."""
    key = data_object, governor
    rounds = state.remade[key] = state.remade.get(key, 0) + 1
    if rounds > state.settings.remake_rounds:
        holders = ", ".join(holder.address for holder in data_object.located)
        again = f"though it was made again {rounds - 1} times"
        _give_up(state, data_object, governor, holders, again)
        return
    state.unfetched = {k: n for k, n in state.unfetched.items() if k[0] is not data_object}
    for holder in data_object.located:
        losses.pass_on(state, loss.lose_copy(data_object, holder, state.now))


def _give_up(
    state: State, data_object: DataObject, governor: Governor, source: str, how_often: str
) -> None:
    """Fails the tasks that wait for the object on this governor."""
    state.fetched(data_object, governor)
    data_object.leave(governor)
    state.drop(data_object, governor.alone)
    message = (
        f"the input {spell(data_object.id)} ({data_object.kind.label!r}) cannot be brought from"
        f" {source} to the governor {governor.address}, {how_often}: see the log of that governor,"
        " and whether it reaches the other end"
    )
    for task in list(data_object.consumers):
        if task.is_known and task.assigned is governor:
            stopped = planning.stopped(task)
            failure = TaskFailure(task.id, stopped[-1], message)
            failing.run_failed(state, governor, task, failure)
            if task.is_known:  # else its session has failed, and the governor forgets the session
                state.stop(*stopped)


def offer_again(state: State) -> None:
    """Offers copies again whose pause is over."""
    due = [key for key, time in state.postponed.items() if time <= state.now]
    for key in due:
        del state.postponed[key]
        state.to_place[key] = state.unfetched.get(key, 0)
