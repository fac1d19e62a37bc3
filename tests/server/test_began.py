"""When tasks began, as governors tell it on clocks of their own."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import TaskId
from rain.base.wire.update import Update
from rain.graph.governor import DRIFT
from tests.support.events import listen
from tests.support.scenes import Scene, scene

THEIRS = 5_000.0
"""What the clock of the governor shows at the beginning."""


def finished(s: Scene, task: TaskId, start: float, end: float, sent: float) -> None:
    """A task has run from `start` to `end`, and the update left then, on the governor's clock."""
    update = s.governors[0].finished(task)
    update.finished.durations = [end - start]
    update.finished.starts = [start]
    update.time = sent
    s.governors[0].send(update)


def tasks(s: Scene, count: int) -> list[TaskId]:
    """Tasks that the governor was told to run."""
    made = [s.draft.task()[0] for _ in range(count)]
    s.submit()
    s.assign(*made)
    return made


def test_a_task_began_when_its_governor_says_so() -> None:
    s = scene(1)
    (task,) = tasks(s, 1)
    s.world.now += 10
    finished(s, task, THEIRS + 1, THEIRS + 2, THEIRS + 4)
    run = s.world.task(task).last_run()
    assert (run.started, run.duration) == (s.world.now - 3, 1)


def test_the_start_of_a_task_that_runs_is_told_too_and_corrected_at_its_end() -> None:
    s = scene(1)
    (task,) = tasks(s, 1)
    s.world.now += 10
    happenings = listen(s.world)
    update = s.governors[0].started(task)
    update.started_times, update.time = [THEIRS], THEIRS + 0.5
    s.governors[0].send(update)
    assert s.world.task(task).started == s.world.now - 0.5
    (noted,) = happenings.take().happenings
    assert noted.time == s.world.now - 0.5
    finished(s, task, THEIRS - 0.25, THEIRS + 1, THEIRS + 1.5)
    assert s.world.task(task).started == s.world.now - 1.75


def test_a_governor_that_tells_no_times_has_ended_its_tasks_just_now() -> None:
    s = scene(1)
    (task,) = tasks(s, 1)
    s.world.now += 10
    s.governors[0].finish(task)
    assert s.world.task(task).started == s.world.now - s.world.task(task).duration


def test_no_task_began_before_it_was_told_nor_ends_after_its_end_was_heard() -> None:
    s = scene(1)
    early, late = tasks(s, 2)
    finished(s, early, THEIRS - 1e6, THEIRS - 1e6 + 0.5, THEIRS)
    finished(s, late, THEIRS + 1e6, THEIRS + 1e6 + 0.5, THEIRS)
    first, second = (s.world.task(task).last_run() for task in (early, late))
    assert first.started == first.told
    assert second.started == s.world.now - 0.5


@given(
    st.lists(
        st.tuples(st.floats(0.01, 2), st.floats(0, 0.5), st.floats(0, 3)), min_size=1, max_size=8
    )
)
def test_what_one_executor_does_one_after_the_other_does_not_overlap(
    runs: list[tuple[float, float, float]],
) -> None:
    s = scene(1)
    ran = tasks(s, len(runs) + 1)
    zero = s.world.now - THEIRS + 1  # the true difference of the clocks
    theirs = THEIRS
    finished(s, ran[0], theirs, theirs, theirs)  # a message that was not held up
    spans: list[tuple[float, float]] = []
    for task, (seconds, pause, delay) in zip(ran[1:], runs, strict=True):
        start, theirs = theirs + pause, theirs + pause + seconds
        s.world.now = max(theirs + zero + delay, s.world.now + 1) - 1  # a turn takes one second
        finished(s, task, start, theirs, theirs)
        run = s.world.task(task).last_run()
        spans.append((run.started, run.started + run.duration))
    drift = DRIFT * (s.world.now - 1000.0)
    assert all(start >= end - drift for (_, end), (start, _) in pairwise(spans))
    assert all(end <= s.world.now + 1e-6 for _, end in spans)


def test_a_clock_that_goes_slower_is_followed() -> None:
    s = scene(1)
    governor, ran = s.node(0), tasks(s, 3)
    for number, task in enumerate(ran):
        s.world.now += 1000
        sent = THEIRS + 1001 * number * (1 - DRIFT / 2)
        finished(s, task, sent, sent, sent)
        assert abs(governor.clock - (s.world.now - sent)) < 1e-6


def test_an_update_without_times_says_nothing_of_the_clock() -> None:
    s = scene(1)
    s.governors[0].send(Update())
    assert s.node(0).clock == float("inf")
