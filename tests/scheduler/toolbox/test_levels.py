"""Levels are the longest chains that begin with a task, and urgency grows with waiting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import ObjectId, TaskId
from rain.scheduler.api import Plan
from rain.scheduler.toolbox.levels import enter_levels, mark_of, urgency
from tests.support.scenes import Scene, scene
from tests.support.submissions import timed


def entered(s: Scene, tasks: list[TaskId], now: float = 0.0) -> None:
    """Submits, and enters the levels of these."""
    s.submit()
    plan = Plan(s.world.state.graph, s.world.state.estimates, now)
    enter_levels([s.world.task(task) for task in tasks], plan)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.lists(st.integers(0, 30), max_size=3)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 12),
)
def test_a_level_is_the_longest_chain_also_when_consumers_come_later(
    shapes: list[tuple[int, list[int]]], cut: int
) -> None:
    # given: tasks that read earlier ones, submitted in two parts
    s = scene()
    tasks: list[TaskId] = []
    made: list[ObjectId] = []
    parts: list[list[TaskId]] = [[], []]
    readers: dict[int, list[int]] = {}
    for number, (seconds, inputs) in enumerate(shapes):
        if number == cut:
            entered(s, parts[0])
        chosen = {index % len(made) for index in inputs} if made else set[int]()
        task, output = timed(s.draft, seconds, *[made[index] for index in sorted(chosen)])
        s.draft.submission.kept.append(output)
        for index in chosen:
            readers.setdefault(index, []).append(number)
        parts[number >= cut].append(task)
        tasks.append(task)
        made.append(output)
    # when
    entered(s, parts[1] if cut < len(shapes) else parts[0])
    # then
    longest: dict[int, float] = {}
    for number in reversed(range(len(shapes))):
        behind = max((longest[reader] for reader in readers.get(number, ())), default=0.0)
        longest[number] = shapes[number][0] + behind
    assert [mark_of(s.world.task(task)).level for task in tasks] == list(longest.values())[::-1]


def test_a_second_of_waiting_weighs_as_much_as_a_second_of_level() -> None:
    s = scene()
    old, _ = timed(s.draft, 5.0)
    entered(s, [old], now=100.0)
    later, _ = timed(s.draft, 12.0)
    entered(s, [later], now=110.0)
    latest, _ = timed(s.draft, 12.0)
    entered(s, [latest], now=104.0)
    old_one, later_one, latest_one = (s.world.task(task) for task in (old, later, latest))
    assert urgency(old_one) > urgency(later_one)
    assert urgency(latest_one) > urgency(old_one)
