"""The graph as a whole: who comes, and what is counted."""

from __future__ import annotations

import pytest

from rain.base.errors import InvariantError
from rain.base.ids import ClientId, GovernorId
from rain.base.resources import ONE_CPU
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.graph import Graph, Learned, planning
from rain.graph.run import Ending
from tests.graph.test_moves import task_in
from tests.support.scenes import scene


def test_nobody_joins_twice() -> None:
    graph = Graph()
    graph.add_client(ClientId(1))
    graph.add_governor(GovernorId(5), "a:1", ONE_CPU, 0.0)
    with pytest.raises(InvariantError, match="client 1 joined twice"):
        graph.add_client(ClientId(1))
    with pytest.raises(InvariantError, match="governor 5 joined twice"):
        graph.add_governor(GovernorId(5), "a:1", ONE_CPU, 0.0)


def test_governors_are_numbered_as_they_come_even_when_others_have_gone() -> None:
    graph = Graph()
    first = graph.add_governor(GovernorId(70), "a:1", ONE_CPU, 0.0)
    del graph.governors[first.id]
    second = graph.add_governor(GovernorId(60), "a:1", ONE_CPU, 0.0)
    assert (first.number, second.number) == (1, 2)
    assert repr(second) == "<Governor 2 a:1>"
    assert repr(graph) == "<Graph 0 tasks, 0 objects, 1 governors>"


def test_a_task_without_a_governor_cannot_be_withdrawn() -> None:
    with pytest.raises(InvariantError, match="has no governor"):
        planning.withdraw(task_in(TaskRow.PLANNED), Ending(1.0, RunCause.TAKEN_BACK))


def test_what_finished_tasks_of_a_kind_have_shown_is_remembered() -> None:
    # given
    s = scene(1)
    tasks = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    session = s.world.state.graph.sessions[s.draft.session]
    kind = s.world.task(tasks[0]).kind.id
    assert session.learned[kind].mean_seconds is None
    # when
    for task in tasks:
        s.run(task)
    # then
    assert session.learned[kind] == Learned(2, 1.0, 200_000)
    assert session.learned[kind].mean_seconds == 0.5
