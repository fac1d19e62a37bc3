"""What those are told who start governors: the work that waits, and who has nothing to do."""

from __future__ import annotations

import pytest

from rain.base.attempts import Attempts
from rain.base.governors import GovernorRow
from rain.base.resources import Resources
from rain.base.wire.demand import Need
from rain.server.core import demand
from rain.server.core.demand import gather_demand
from tests.support.scenes import Scene, scene

SECONDS = 60.0


def needs(s: Scene) -> dict[Resources, Need]:
    found = gather_demand(s.world.state, SECONDS, s.world.now).needs
    return {need.resources: need for need in found}


def test_tasks_that_could_run_are_counted_by_what_they_need() -> None:
    s = scene()
    for _ in range(3):
        s.draft.task()
    s.draft.task(cpus=2, gpus=1)
    s.submit()

    assert needs(s) == {
        Resources(1): Need(Resources(1), waiting=3, unknown=3),
        Resources(2, (("gpus", 1),)): Need(Resources(2, (("gpus", 1),)), waiting=1, unknown=1),
    }


def test_tasks_whose_inputs_are_missing_do_not_count() -> None:
    s = scene()
    _, made = s.draft.task()
    s.draft.task(*made)
    s.submit()

    assert needs(s)[Resources(1)].waiting == 1


def test_what_has_finished_tells_how_long_the_others_take() -> None:
    s = scene(4)
    tasks = [s.draft.task()[0] for _ in range(3)]
    s.submit()
    s.assign(tasks[0])
    s.governors[0].send(s.governors[0].started(tasks[0]))
    s.governors[0].finish(tasks[0])  # after half a second
    s.world.reactor.settle()

    assert needs(s) == {Resources(1): Need(Resources(1), waiting=2, seconds=1.0)}


def test_a_running_task_occupies_its_place_for_the_rest_of_its_time() -> None:
    s = scene(4)
    tasks = [s.draft.task()[0], s.draft.task(cpus=2, task_type="sh")[0]]
    s.submit()
    session = s.world.state.graph.sessions[s.draft.session]
    session.learned[s.world.task(tasks[0]).kind.id].note([20.0], 20.0, 0)
    s.assign(*tasks)
    s.governors[0].start(*tasks)
    s.world.turn(after=5.0)

    assert needs(s) == {
        Resources(1): Need(Resources(1), running=1, occupied=15.0),
        Resources(2): Need(Resources(2), running=1, occupied=SECONDS),  # nobody knows
    }


def test_a_governor_without_tasks_says_whether_it_alone_has_data() -> None:
    s = scene(4, 4)
    first, (made,) = s.draft.task(keep=True)
    second, _ = s.draft.task()
    s.submit()
    s.run(first)
    s.assign(second, to=1)

    one, other = gather_demand(s.world.state, SECONDS, s.world.now).loads
    assert (one.tasks, one.has_sole_copies, one.resources) == (0, True, Resources(4))
    assert (other.tasks, other.has_sole_copies, other.row) == (1, False, GovernorRow.WORKS)

    s.copied(made, to=1)
    s.run(second, on=1)

    assert [one.has_sole_copies for one in gather_demand(s.world.state, 1.0, 0.0).loads] == [
        False,
        False,
    ]


def test_of_many_tasks_a_part_is_looked_at_and_the_rest_is_taken_to_be_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demand, "MOST_TASKS", 10)
    s = scene()
    for _ in range(100):
        s.draft.task()
    s.submit()

    assert needs(s) == {Resources(1): Need(Resources(1), waiting=100, unknown=100)}


def test_tasks_of_very_different_lengths_are_told_apart_by_what_the_shortest_takes() -> None:
    s = scene()
    for seconds in (0.0, 60.0, 1000.0, 1500.0, 1900.0, 40_000.0):
        s.draft.task(tries=Attempts(timeout=seconds))
    s.submit()
    found = gather_demand(s.world.state, SECONDS, s.world.now).needs
    assert sorted((need.shortest, need.waiting) for need in found) == [
        (0.0, 2),
        (1000.0, 3),
        (40_000.0, 1),
    ]
