"""Checks that cycles of futures will be found (see circles.py), by a plain walk over the graph."""

from __future__ import annotations

from collections.abc import Mapping

from rain.graph.data_object import DataObject
from rain.graph.expect import Expect
from rain.graph.graph import Graph
from rain.graph.task import Task


def check_circles(graph: Graph, found: list[str]) -> None:
    """Checks that every unreachable object has a suspect, or will be released in any case."""
    _check_backwards(graph, found)
    expect = Expect(graph, found)
    for one in graph.suspects:
        expect(one.is_known, "{} is a suspect, and has gone", one)
    if any(session.in_results for session in graph.sessions.values()):
        lost = _not_looked_at(graph)
        expect(not lost, "nobody reaches {}, and none of these is a suspect", lost)


def _check_backwards(graph: Graph, found: list[str]) -> None:
    """What contains each object, counted again."""
    in_results: dict[DataObject, dict[DataObject, None]] = {}
    in_arguments: dict[DataObject, dict[Task, None]] = {}
    for session in graph.sessions.values():
        for holder, inside in session.contents.items():
            for one in inside:
                if isinstance(holder, DataObject):
                    in_results.setdefault(one, {})[holder] = None
                elif holder.is_done:
                    in_arguments.setdefault(one, {})[holder] = None
    for session in graph.sessions.values():
        expect = Expect(session, found)
        for one, holders in session.in_results.items():
            counted = in_results.pop(one, {})
            expect(
                holders == counted, "{} is noted to be in {}, and is in {}", one, holders, counted
            )
        for one, tasks in session.in_arguments.items():
            its = in_arguments.pop(one, {})
            expect(tasks == its, "{} is noted to be in {}, and is in {}", one, tasks, its)
    expect = Expect(graph, found)
    expect(not in_results, "{} are in results, and it is not noted", [*in_results])
    expect(not in_arguments, "{} are in arguments, and it is not noted", [*in_arguments])


def _reachable(graph: Graph) -> dict[DataObject, None]:
    """The reachable objects: those that lead back to a claim other than results and lineage."""
    pending = [one for one in graph.objects.values() if one.handles.wants_data]
    pending += graph.held
    for shadow in graph.shadows.values():
        pending += shadow.outputs
    for task in graph.tasks.values():
        if not task.is_done:
            pending += [*task.inputs, *task.session.contents.get(task, ())]
    reached: dict[DataObject, None] = {}
    while pending:
        one = pending.pop()
        if one not in reached:
            reached[one] = None
            pending += _leads_to(one)
    return reached


def _leads_to(data_object: DataObject) -> list[DataObject]:
    """What an object claims: what is inside of it, and what it may be made again of."""
    lineage = _lineage(data_object) if data_object.may_have_to_be_made else []
    return [*data_object.session.contents.get(data_object, ()), *lineage]


def _lineage(data_object: DataObject) -> list[DataObject]:
    task = data_object.producer
    if task is None or not task.may_run_again:
        return []
    return [*task.inputs, *task.session.contents.get(task, ())]


def _not_looked_at(graph: Graph) -> list[DataObject]:
    """Unreachable objects that are not connected with any suspect."""
    reached = _reachable(graph)
    claimed = [one for one in graph.objects.values() if one.needed_by or one.remade_by]
    connected: dict[DataObject, list[DataObject]] = {}
    for one in [*graph.objects.values(), *graph.unneeded]:
        if one not in reached:
            for other in [*_leads_to(one), *_lineage(one)]:  # some end when `unneeded` is released
                connected.setdefault(one, []).append(other)
                connected.setdefault(other, []).append(one)
    seen = _all_connected([*graph.suspects, *graph.unneeded, *_being_made(graph)], connected)
    return [one for one in claimed if one not in reached and one not in seen]


def _being_made(graph: Graph) -> list[DataObject]:
    """These get new contents when they have been made."""
    return [
        one
        for one in graph.objects.values()
        if one.producer is not None and not one.producer.is_done
    ]


def _all_connected(
    some: list[DataObject], connected: Mapping[DataObject, list[DataObject]]
) -> dict[DataObject, None]:
    seen: dict[DataObject, None] = {}
    pending = some
    while pending:
        one = pending.pop()
        if one not in seen:
            seen[one] = None
            pending += connected.get(one, ())
    return seen
