"""Governors that drain: they were asked to end, and leave when nothing is lost with them.

A governor that drains starts nothing any more, and has reported all that it has started. Tasks that
it has not started go elsewhere. Running tasks may finish. Needed data of which it has the only copy
is copied to other governors, a part at a time. Then the server lets it go. The governor itself
waits no longer than its `--drain-seconds`.
"""

from __future__ import annotations

from collections import deque

from rain.graph import DataObject, Governor, planning
from rain.graph.governor import Drain
from rain.server.core import happenings, rests
from rain.server.core.messages import GovernorDrains
from rain.server.core.placing import bring
from rain.server.core.state import State

OVER = "it has drained"
"""The reason in the end of a drained governor."""

MOVED_AT_ONCE = 64
"""Copies that other governors fetch from one that drains, or are about to."""


def begin(state: State, governor: Governor) -> None:
    """A governor has reported that it starts nothing any more."""
    if governor in state.drains:
        return
    state.back_off.end(governor)
    governor.drain()
    rests.take_back_all(state, governor)
    state.drains[governor] = Drain(deque(governor.objects))
    state.news.joined.append(governor)  # with other resources than before
    state.note(happenings.GovernorDrains(state.now, governor.address))
    state.emit(GovernorDrains(governor.address, len(governor.assigned), len(governor.objects)))


def move_on(state: State) -> list[Governor]:
    """Moves more data away; returns the governors that can leave."""
    drains = state.drains.items()
    return [governor for governor, drain in drains if _is_over(state, governor, drain)]


def _is_over(state: State, governor: Governor, drain: Drain) -> bool:
    for data_object in [one for one in drain.moving if not _is_under_way(one)]:
        del drain.moving[data_object]
        drain.unseen.append(data_object)  # it is safe, or it is not fetched any more
    _move_more(state, governor, drain)
    if drain.moving or governor.assigned or governor.away is not None:
        return False
    # What has finished there since the drain began was not looked at.
    drain.unseen.extend(one for one in governor.objects if _is_at_stake(one))
    _move_more(state, governor, drain)
    return not drain.moving


def _move_more(state: State, governor: Governor, drain: Drain) -> None:
    while drain.unseen and len(drain.moving) < MOVED_AT_ONCE:
        data_object = drain.unseen.popleft()
        if data_object not in governor.objects or not _is_at_stake(data_object):
            continue
        if not _is_under_way(data_object):
            target = _target(state, data_object)
            if target is None:
                continue  # it goes with the governor, and is made again when there is another one
            planning.order_copy(data_object, target)
            bring(state, state.orders(target), (data_object,), target)
        drain.moving[data_object] = None


def _is_at_stake(data_object: DataObject) -> bool:
    """Whether the object is needed, and only governors that drain have it."""
    return (
        data_object.is_finished
        and data_object.is_needed
        and not data_object.is_at_server
        and not any(copy.is_held and not copy.governor.drains for copy in data_object.copies)
    )


def _is_under_way(data_object: DataObject) -> bool:
    """Whether a governor that stays was told to fetch it."""
    return any(
        copy.is_known and not copy.is_held and not copy.governor.drains
        for copy in data_object.copies
    )


def _target(state: State, data_object: DataObject) -> Governor | None:
    """The governor that will probably read the object next, or else the one that holds the fewest
    objects.
    """
    governors = state.graph.governors.values()
    there = [found for found in governors if not found.drains and found.away is None]
    readers = {task.scheduled for task in data_object.consumers if not task.is_done}
    near = [found for found in there if found in readers]
    return min(near or there, key=_burden, default=None)


def _burden(governor: Governor) -> tuple[bool, int, int]:
    return governor.rests, len(governor.objects), governor.number
