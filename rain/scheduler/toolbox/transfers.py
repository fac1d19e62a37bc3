"""When the inputs of a task would be on a governor, over links that it shares with all others.

Every governor has a download and an upload, each with a time until which it is taken by what was
planned before. So ten tasks that want their inputs from one place are not told that each of them
has all of its bandwidth.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import define

from rain.base.wire import INLINE_LIMIT
from rain.graph import DataObject, Governor, Task
from rain.scheduler.api import Plan
from rain.scheduler.toolbox.levels import Mark
from rain.scheduler.toolbox.places import LOOKED_AT
from rain.scheduler.toolbox.sites import EXPRESS, Site, Sites

LATENCY = 0.001
"""Seconds that it takes to tell another governor of an input, however small."""

NEAR = 8
"""Consumers of a task, and inputs of these, that are looked at."""


@define(eq=False)
class Note(Mark):
    """A mark with where a task was planned and when it will end there.

    `listed` says that it is somebody's turn to plan it: the list's, or the express lane's, which
    keeps it set for good.
    """

    end: float = 0.0
    site: Site | None = None
    listed: bool = False


def note_of(task: Task) -> Note:
    """The note on a task; a task that came while another scheduler planned gets one of a tiny task.

    If it needs a plan once more, the express lane sends it on to where it belongs.
    """
    note = task.sched
    if not isinstance(note, Note):
        note = task.sched = Note(EXPRESS, EXPRESS, 0.0, listed=True)
    return note


class Wanted(NamedTuple):
    """An input that takes time to come."""

    object: DataObject
    made: float  # when it is, or will be, finished
    seconds: float  # how long it is on its way


class Place(NamedTuple):
    """Where a task would go, and when."""

    site: Site
    start: float
    moving: float  # seconds of transfers


def wanted_inputs(task: Task, plan: Plan) -> list[Wanted]:
    """The inputs of a task that are not at once everywhere."""
    estimates, now = plan.estimates, plan.now
    found: list[Wanted] = []
    for data_object in task.inputs[:LOOKED_AT]:
        size = estimates.size(data_object)
        if data_object.is_finished:
            if size > INLINE_LIMIT:
                found.append(Wanted(data_object, now, estimates.transfer(size)))
        elif data_object.producer is not None:
            made = note_of(data_object.producer).end
            found.append(Wanted(data_object, made, LATENCY + estimates.transfer(size)))
    return found


def place_on(
    site: Site, sites: Sites, cpus: int, wanted: list[Wanted], ready: float, now: float
) -> Place:
    """When a task could start there that is ready at this time."""
    arrival, down, moving = ready, max(site.download, now), 0.0
    for found in wanted:
        places = found.object.scheduled
        if site.governor in places:
            continue
        down = max(found.made, down, _source_free(places, sites)) + found.seconds
        moving += found.seconds
        arrival = max(arrival, down)
    return Place(site, max(arrival, site.start(min(cpus, site.cpus), now)), moving)


def occupy_links(site: Site, sites: Sites, wanted: Wanted) -> None:
    """The input will be brought there."""
    places = wanted.object.scheduled
    end = max(wanted.made, site.download, _source_free(places, sites)) + wanted.seconds
    site.download = end
    source = sites.get(places[0]) if places else None
    if source is not None:
        source.upload = end


def _source_free(places: tuple[Governor, ...], sites: Sites) -> float:
    """When the governor that would send it has sent all else; the server counts as always free."""
    source = sites.get(places[0]) if places else None
    return source.upload if source is not None else 0.0


def kin(task: Task, plan: Plan) -> dict[Governor, float]:
    """Where the other inputs of the task's consumers are, or will be: bytes by governor.

    Tasks whose outputs meet in one consumer had better run in one place.
    """
    estimates = plan.estimates
    found: dict[Governor, float] = {}
    for output in task.outputs[:NEAR]:
        if not output.consumers or estimates.size(output) <= INLINE_LIMIT:
            continue
        for consumer in output.consumers[:NEAR]:
            for other in consumer.inputs[:NEAR]:
                if other is not output:
                    for governor in other.scheduled:
                        found[governor] = found.get(governor, 0.0) + estimates.size(other)
    return found
