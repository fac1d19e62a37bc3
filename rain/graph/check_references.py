"""Checks references: both sides of each one are in the graph."""

from __future__ import annotations

from collections import Counter

from attrs import Factory, define

from rain.base.states import ObjectState
from rain.graph.check_shadows import claimed
from rain.graph.data_object import DataObject
from rain.graph.expect import Expect
from rain.graph.graph import Graph
from rain.graph.session import Session
from rain.graph.task import Task

_GONE = (ObjectState.REMOVED, ObjectState.FAILED)


@define
class Contained:
    """How often each object is claimed by what contains it, counted again."""

    needed: Counter[DataObject] = Factory(Counter)
    remade: Counter[DataObject] = Factory(Counter)


def count(graph: Graph, found: list[str]) -> Contained:
    """Checks everything that contains objects."""
    contained = Contained()
    for session in graph.sessions.values():
        for holder, inside in session.contents.items():
            expect = Expect(holder, found)
            expect(holder.is_known, "has gone, and contains {}", inside)
            expect(holder.session is session, "contains {} for the session {}", inside, session)
            _check_holder(graph, holder, expect)
            expect(bool(inside) and len(set(inside)) == len(inside), "contains {}", inside)
            for one in inside:
                expect(one is not holder, "contains itself")
                expect(one.is_known, "contains {}, which has gone", one)
                shared = one.session is session or one in one.session.shared
                expect(shared, "contains {}, whose session does not know", one)
            by_lineage = isinstance(holder, Task) and holder.is_done
            (contained.remade if by_lineage else contained.needed).update(inside)
    for one in graph.held:
        expect = Expect(one, found)
        expect(one.is_known, "is held for a next run, and has gone")
        expect(one in one.session.shared, "is held, and its session does not know")
        held_for = one.session.is_left or one.session.is_durable
        expect(held_for, "is held, and its session has a client and is not durable")
    contained.needed.update([*graph.held])
    contained.needed.update(claimed(graph))
    return contained


def check_session(session: Session, expect: Expect) -> None:
    """Its objects that others have claimed, and its tasks that read those of others."""
    for one in session.shared:
        expect(one.is_known, "{} is shared, and has gone", one)
        expect(one.session is session, "{} is shared, and is of another session", one)
    for task in session.once_inside:
        expect(
            task.is_known and task.is_done, "{} has once contained others, and is not done", task
        )
        expect(task not in session.contents, "{} contains others still", task)
    for object_id in session.digests:
        constant = session.objects.get(object_id)
        expect(constant is not None and constant.spooled, "has a digest for no file")
    for task in session.reads_outside:
        expect(task.is_known, "{} reads others, and has gone", task)
        others = [one for one in task.inputs if one.session is not session]
        expect(bool(others), "{} reads only its own", task)
        for one in others:
            expect(not one.is_known or one in one.session.shared, "{} is not shared", one)
    expect(not session.is_left or session.goes_on, "it is left, and would end with a failure")


def _check_holder(graph: Graph, holder: Task | DataObject, expect: Expect) -> None:
    if isinstance(holder, Task):
        expect(not holder.is_done or holder.may_run_again, "never runs, and contains something")
    else:
        is_there = holder.state not in _GONE or holder in graph.unneeded
        expect(is_there, "its data has gone, and it contains something")
