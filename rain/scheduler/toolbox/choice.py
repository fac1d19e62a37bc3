"""Chooses the governor on which a task would end first, and books its cpus and memory there.

Only a few governors are compared: the one that is free first, those with inputs of the task, and
those with other inputs of its consumers.
"""

from __future__ import annotations

from rain.graph import Governor, Task
from rain.graph.rules import allows
from rain.graph.times import has_time
from rain.scheduler.api import Plan
from rain.scheduler.toolbox.fit import Fit, fit
from rain.scheduler.toolbox.sites import Site, Sites
from rain.scheduler.toolbox.transfers import Note, PossiblePlace, kin, place_on, wanted_inputs

NEAREST = 8
"""The most governors with inputs, or with inputs of consumers, that are compared."""

SOCIAL = 0.3
"""Transfers also delay others: a second of transfer counts as this many seconds of waiting."""


def choose_place(
    task: Task, need: int, ready: float, sites: Sites, plan: Plan
) -> PossiblePlace | None:
    """The place where a task that is ready at this time would end first; None if none can take it.

    It needs this many bytes of memory beyond what its kind declares.
    """
    now, cpus = plan.now, task.cpus
    wanted = wanted_inputs(task, plan) if task.inputs or task.kind.near else []
    near: dict[Governor, float] = {}
    for found in wanted:
        for governor in found.places:
            near[governor] = near.get(governor, 0.0) + found.seconds
    related = kin(task, plan)
    kind = task.kind
    if kind.resources.others or kind.constraints is not None:
        governors = plan.graph.governors.values()
        candidates = [site for site in sites if allows(task, site.governor, governors)]
    else:
        first = _first(task, need, sites, now)
        if first is None:
            return None
        if not near and not related:
            start = max(first.start(cpus, now), first.has_memory(need, now), ready)
            return PossiblePlace(first, start, 0.0)
        candidates = [first, *_nearest(near, task, sites), *_nearest(related, task, sites)]
    best: tuple[float, float, Fit] | None = None
    chosen: PossiblePlace | None = None
    for site in dict.fromkeys(candidates):
        if site.slots[0] <= now:
            sites.refresh(site, now)
        place = place_on(site, sites, cpus, wanted, ready, now, need)
        governor = site.governor
        key = (
            place.start + SOCIAL * place.moving,
            -related.get(governor, 0.0),
            fit(len(governor.scheduled) // site.cpus, governor),
        )
        if best is None or key < best:
            best, chosen = key, place
    return chosen


def _first(task: Task, need: int, sites: Sites, now: float) -> Site | None:
    """The site that has cpus for the task first, and the time; with memory if one has it now."""
    cpus = task.cpus
    first = sites.first(cpus, now)
    if first is not None and not has_time(task, first.governor):
        first = _first_with_time(task, sites, now)
    if first is not None and need and first.has_memory(need, now) > now:
        other = sites.with_memory(cpus, need, now)
        return other if other is not None and has_time(task, other.governor) else first
    return first


def _first_with_time(task: Task, sites: Sites, now: float) -> Site | None:
    """The first of the sites where the task ends before the governor must be gone."""
    cpus = task.cpus
    fitting = [one for one in sites if cpus <= one.governor.cpus and has_time(task, one.governor)]
    for site in fitting:
        sites.refresh(site, now)
    return min(
        fitting,
        key=lambda site: (site.start(cpus, now), len(site.governor.scheduled)),
        default=None,
    )


def _nearest(weights: dict[Governor, float], task: Task, sites: Sites) -> list[Site]:
    """The sites of the governors with the largest weights, enough cpus and enough time."""
    # Data may be on governors that this scheduler has not seen.
    fitting = [
        found
        for found in weights
        if task.cpus <= found.cpus and has_time(task, found) and sites.get(found)
    ]
    if len(fitting) > NEAREST:
        fitting.sort(key=lambda governor: (-weights[governor], governor.number))
    return [sites[governor] for governor in fitting[:NEAREST]]


def take_site(task: Task, note: Note, place: PossiblePlace) -> None:
    """Books the cpus and the memory of the task where it was planned."""
    site, start, _ = place
    cpus, seconds = task.cpus, note.seconds
    site.book(min(cpus, site.cpus), start, seconds)
    site.work += seconds * cpus
    site.planned += 1
    note.site = site
    note.end = start + seconds
    if note.need:
        site.holds[task] = note.end, note.need


def leave_site(task: Task, note: Note) -> None:
    """The task is not planned there any more, or has ended."""
    if note.site is not None:
        note.site.work -= note.seconds * task.cpus
        note.site.planned -= 1
        note.site.holds.pop(task, None)
        note.site = None
