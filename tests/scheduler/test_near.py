"""Files are read by governors near to them, and elsewhere if these are busy."""

from __future__ import annotations

import pytest

from rain.base.constraints import Constraints
from rain.base.ids import GovernorId, TaskId
from rain.base.near import Near
from rain.base.resources import Resources
from rain.graph import Graph
from rain.scheduler.nearby import Nearby
from rain.scheduler.shipped import SCHEDULERS
from tests.support.scenes import Scene, scene_with

FOLLOW_DATA = [name for name in SCHEDULERS if name not in {"random", "round-robin"}]
LARGE = 50_000_000


def submitted(s: Scene, *names: str, size: int = LARGE, pin: str = "") -> list[TaskId]:
    """A task for each place."""
    tasks = [
        s.draft.task(
            near=(Near((name,), size),), constraints=Constraints(pin=(pin,)) if pin else None
        )[0]
        for name in names
    ]
    s.submit()
    s.world.turn()
    assert not s.world.scheduler_failures
    return tasks


def places(s: Scene, tasks: list[TaskId]) -> list[int | None]:
    """The governors by their places in the scene."""
    numbers = {one.node: place for place, one in enumerate(s.governors)}
    found = [s.world.task(task).scheduled for task in tasks]
    return [None if one is None else numbers[one] for one in found]


@pytest.mark.parametrize("name", FOLLOW_DATA)
@pytest.mark.parametrize("size", [100, LARGE])
def test_a_file_is_read_where_it_is_near(name: str, size: int) -> None:
    s = scene_with(SCHEDULERS[name](), 1, 1, 1, 1)
    wanted = [2, 0, 3, 1]
    tasks = submitted(s, *[s.node(place).address for place in wanted], size=size)
    assert places(s, tasks) == wanted


@pytest.mark.parametrize("name", FOLLOW_DATA)
def test_a_file_that_is_near_to_nobody_is_read_anywhere(name: str) -> None:
    s = scene_with(SCHEDULERS[name](), 1, 1)
    assert None not in places(s, submitted(s, "nowhere", "nowhere"))


def test_it_is_read_elsewhere_when_the_governors_near_to_it_are_busy() -> None:
    s = scene_with(SCHEDULERS["horizon"](), 1, 1, 1)
    address = s.node(1).address
    (busy,) = submitted(s, address)
    s.draft.submission.task_kinds.clear()
    first = places(s, [busy])
    s.governors[1].start(busy)
    for _ in range(3):
        s.world.now += 60.0  # it goes on and on
        s.world.turn()
    (other,) = submitted(s, address)
    s.world.now += 60.0
    s.world.turn()
    assert first == [1]
    assert places(s, [other])[0] in {0, 2}


def test_a_pin_is_stronger() -> None:
    s = scene_with(SCHEDULERS["horizon"](), 1, 1)
    assert places(s, submitted(s, s.node(0).address, pin=s.node(1).address)) == [1]


def test_governors_are_named_by_address_by_host_and_by_what_they_offer() -> None:
    graph = Graph()
    nodes = [
        graph.add_governor(GovernorId(number), address, Resources.of({"cpus": 1, **offered}), 0.0)
        for number, (address, offered) in enumerate(
            [("alpha:1", {"eu": 1}), ("beta:1", {}), ("beta:2", {"eu": 9})], 1
        )
    ]
    nearby = Nearby(nodes)

    def near(*names: str) -> list[int]:
        return [one.number for one in nearby.governors(Near(names, 1))]

    assert near("eu") == [1, 3]
    assert near("beta") == [2, 3]
    assert near("beta:1") == [2]
    assert near("alpha", "eu", "eu") == [1, 3]  # each counts once
    assert near("us") == []
