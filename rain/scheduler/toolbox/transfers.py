"""Predicts when the inputs of a task arrive on a governor, over links shared with other transfers.

Every governor has a download and an upload link, each with a time until which earlier plans use it.
So ten tasks with inputs from the same place do not each count on its whole bandwidth.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import define

from rain.base.wire import INLINE_LIMIT
from rain.graph import DataObject, Governor, Task
from rain.graph.exchanges import is_exchange
from rain.scheduler.api import Plan
from rain.scheduler.toolbox.levels import Mark
from rain.scheduler.toolbox.places import LOOKED_AT
from rain.scheduler.toolbox.sites import EXPRESS, Site, Sites
from rain.scheduler.toolbox.slots import kept

LATENCY = 0.001
"""Seconds of latency to get an input from another governor, regardless of its size."""

NEAR = 8
"""The most consumers of a task, and inputs of these, that are considered."""


@define(eq=False)
class Note(Mark):
    """A mark with the place and the expected end of a planned task.

    `listed` says that the task is in the list of tasks to plan, or in the express lane, which never
    clears it.
    """

    end: float = 0.0
    site: Site | None = None
    listed: bool = False
    need: int = 0  # bytes of memory, beyond what its kind declares


def note_of(task: Task) -> Note:
    """The note of a task; if it arrived while another scheduler planned, that of a tiny task.

    If it needs a plan again, the express lane sends it on to where it belongs.
    """
    note = kept(task, Note)
    if note is None:
        note = task.sched = Note(EXPRESS, EXPRESS, 0.0, listed=True)
    return note


class Wanted(NamedTuple):
    """An input that must be transferred, or bytes outside of the store that must be read."""

    object: DataObject | None
    places: tuple[Governor, ...]  # where it is or will be, or the governors near to it
    made: float  # when it was or will be finished
    seconds: float  # duration of its transfer


class PossiblePlace(NamedTuple):
    """A possible place of a task, with its times."""

    site: Site
    start: float
    moving: float  # seconds of transfers


def wanted_inputs(task: Task, plan: Plan) -> list[Wanted]:
    """What a task reads that takes time: its inputs, and files from elsewhere than near to them.

    There are none of an exchange, which only lists its inputs.
    """
    if is_exchange(task):
        return []
    estimates, now = plan.estimates, plan.now
    found: list[Wanted] = []
    for data_object in task.inputs[:LOOKED_AT]:
        size = estimates.size(data_object)
        if data_object.is_finished:
            if size > INLINE_LIMIT:
                found.append(
                    Wanted(data_object, data_object.scheduled, now, estimates.transfer(size))
                )
        elif data_object.producer is not None:
            made = note_of(data_object.producer).end
            seconds = LATENCY + estimates.transfer(size)
            found.append(Wanted(data_object, data_object.scheduled, made, seconds))
    for near in task.kind.near:
        seconds = LATENCY + estimates.transfer(near.size)
        found.append(Wanted(None, plan.nearby.governors(near), now, seconds))
    return found


def place_on(
    site: Site,
    sites: Sites,
    cpus: int,
    wanted: list[Wanted],
    ready: float,
    now: float,
    need: int = 0,
) -> PossiblePlace:
    """When a task that is ready at this time could start there, with so much memory."""
    arrival, down, moving = ready, max(site.download, now), 0.0
    for found in wanted:
        if site.governor in found.places:
            continue
        down = max(found.made, down, _source_free(found, sites)) + found.seconds
        moving += found.seconds
        arrival = max(arrival, down)
    if need:
        arrival = max(arrival, site.has_memory(need, now))
    return PossiblePlace(site, max(arrival, site.start(min(cpus, site.cpus), now)), moving)


def occupy_links(site: Site, sites: Sites, wanted: Wanted) -> None:
    """Books the links for the transfer of an input."""
    end = max(wanted.made, site.download, _source_free(wanted, sites)) + wanted.seconds
    site.download = end
    source = _source(wanted, sites)
    if source is not None:
        source.upload = end


def _source_free(wanted: Wanted, sites: Sites) -> float:
    """When the upload of the sending governor is free; all others count as always free."""
    source = _source(wanted, sites)
    return 0.0 if source is None else source.upload


def _source(wanted: Wanted, sites: Sites) -> Site | None:
    """The governor that sends it; None for the server, and for what is outside of the store."""
    if wanted.object is None or not wanted.places:
        return None
    return sites.get(wanted.places[0])


def kin(task: Task, plan: Plan) -> dict[Governor, float]:
    """The places of the other inputs of the task's consumers: bytes by governor.

    Tasks whose outputs have a common consumer should run in one place.
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
