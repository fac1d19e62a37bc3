"""Copies that a governor was told to fetch, and could not.

Each holder gets its turn. What only governors have is made again when none of them gives it; what
the server has is offered again, after growing pauses. Neither goes on for ever: what still does not
arrive may be behind a firewall, and fails the tasks there that read it, with both ends by name.
"""

from __future__ import annotations

from rain.base.ids import ObjectId, spell
from rain.base.wire import TaskFailure
from rain.graph import DataObject, Governor, loss, planning
from rain.server import failing, losses
from rain.server.state import State

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two offers of what the server has; each pause is twice as long as the last."""


def apply(state: State, governor: Governor, object_id: ObjectId) -> None:
    """A copy could not be fetched: try again, at last from nowhere but a new one."""
    data_object = state.graph.objects.get(object_id)
    if data_object is None or governor not in data_object.assigned or not data_object.is_finished:
        state.ignored += 1
        return
    if governor in data_object.located:
        # It spoke of a copy that was dropped meanwhile and ordered again.
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
    """Its holders do not give it, whatever they say: for the others it is as good as lost."""
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
    """It does not come to this governor: that fails what waits for it there."""
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
            if task.is_known:  # else its session has failed, and the governor forgets all of it
                state.stop(*stopped)


def offer_again(state: State) -> None:
    """The pauses of some copies are over."""
    due = [key for key, time in state.postponed.items() if time <= state.now]
    for key in due:
        del state.postponed[key]
        state.to_place[key] = state.unfetched.get(key, 0)
