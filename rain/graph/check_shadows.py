"""Checks second runs: a shadow ends with its task, and groups count what is there."""

from __future__ import annotations

from collections import Counter

from rain.base.ids import is_of_server
from rain.base.states import ObjectState, TaskRow
from rain.graph.data_object import DataObject
from rain.graph.expect import Expect
from rain.graph.graph import Graph
from rain.graph.group import Group
from rain.graph.handles import NOBODY
from rain.graph.session import Session
from rain.graph.task import Task


def claimed(graph: Graph) -> Counter[DataObject]:
    """What late tasks claim of their shadows, counted again."""
    return Counter(output for shadow in graph.shadows.values() for output in shadow.outputs)


def check_shadows(graph: Graph, found: list[str]) -> None:
    """Checks the pairs of late tasks and their shadows."""
    expect = Expect(graph, found)
    turned = {shadow: late for late, shadow in graph.shadows.items()}
    expect(turned == graph.shadowed, "{} are shadows, noted {}", turned, graph.shadowed)
    for late, shadow in graph.shadows.items():
        _check_pair(late, shadow, Expect(shadow, found))


def _check_pair(late: Task, shadow: Task, expect: Expect) -> None:
    expect(shadow.is_known, "is a shadow, and has gone")
    expect(late.is_known and not late.is_done, "is the shadow of {}, which is over", late)
    expect(is_of_server(shadow.id), "is a shadow, and has the number of a client's")
    expect(not is_of_server(late.id), "is the shadow of {}, which is one itself", late)
    expect(shadow.session is late.session, "is the shadow of {} of another session", late)
    expect(late.kind.idempotent, "is the shadow of {}, which must not run twice", late)
    expect(shadow.row is not TaskRow.FINISHED, "has finished, and its task does not know")
    same = len(shadow.outputs) == len(late.outputs)
    expect(same, "makes {}, its task makes {}", shadow.outputs, late.outputs)
    there = [output for output in late.outputs if output.state is not ObjectState.UNFINISHED]
    expect(not there, "makes what is there: {}", there)
    handles = [shadow.handles, *[output.handles for output in shadow.outputs]]
    known = any(handle is not NOBODY for handle in handles)
    expect(not known, "a client has a handle of it, or of what it makes")
    readers = [reader for output in shadow.outputs for reader in output.consumers]
    expect(not readers, "{} read what it makes", readers)


def check_groups(graph: Graph, session: Session, expect: Expect) -> None:
    """Checks what a session counts of tasks that may run twice at a time."""
    of_server = sum(map(is_of_server, session.tasks))
    expect(session.shadows >= of_server, "{} shadows, {} are there", session.shadows, of_server)
    names = {(kind.task_type, kind.name) for kind in session.task_kinds.values() if kind.idempotent}
    expect(names == session.groups.keys(), "groups {}, but kinds {}", session.groups, names)
    expect(not names or graph.speculates, "it has groups, and nobody looks at them")
    for group in session.groups.values():
        _check_group(graph, group, expect)


def _check_group(graph: Graph, group: Group, expect: Expect) -> None:
    expect(not group.running or group in graph.watched, "{} runs, and is not watched", group)
    counted = sum(group.durations.buckets.values())
    expect(counted == group.durations.count, "{} durations, counted {}", group.durations, counted)
    expect(group.submitted >= 0, "{} tasks in {}", group.submitted, group)
