"""What schedulers may expect comes from users, from what was measured, and from nowhere else."""

from __future__ import annotations

import pytest

from rain.base.ids import KindId
from rain.base.kinds import TaskKind
from rain.base.resources import ONE_CPU
from rain.graph import Learned
from rain.graph.graph import NAMES_REMEMBERED, Graph
from rain.graph.session import OUTLIER, TRUSTED
from rain.scheduler.estimates import FIRST_BANDWIDTH, UNKNOWN_BYTES, UNKNOWN_SECONDS
from rain.server.core.messages import GovernorUpdated
from tests.support.scenes import scene

MEBIBYTE = 1024 * 1024


def test_without_any_knowledge_there_is_a_guess() -> None:
    s = scene(1)
    task, (made,) = s.draft.task()
    s.submit()
    estimates = s.world.state.estimates
    assert estimates.duration(s.world.task(task)) == UNKNOWN_SECONDS
    assert estimates.size(s.world.object(made)) == UNKNOWN_BYTES
    assert estimates.bandwidth == FIRST_BANDWIDTH


def test_tasks_of_one_name_tell_of_each_other() -> None:
    # given
    s = scene(1)
    first, _ = s.draft.task(keep=True)
    second, (made,) = s.draft.task()
    s.submit()
    # when
    s.run(first, size=5000)
    # then
    estimates = s.world.state.estimates
    assert estimates.duration(s.world.task(second)) == 0.5
    assert estimates.size(s.world.object(made)) == 5000


def test_what_was_learned_of_a_name_helps_later_sessions() -> None:
    s = scene(1)
    first, _ = s.draft.task(keep=True)
    s.submit()
    s.run(first)
    later = s.client.session()
    task, _ = later.task()
    s.client.submit(later)
    assert s.world.task(task).session.learned[s.world.task(task).kind.id].finished == 1


def test_a_task_that_hung_once_hardly_changes_the_mean() -> None:
    learned = Learned()
    for _ in range(TRUSTED):
        learned.note([1.0], 1.0, 0)
    learned.note([1e6], 1e6, 0)
    assert learned.seconds == TRUSTED + OUTLIER


def test_names_are_forgotten_when_there_are_very_many() -> None:
    graph = Graph()
    kinds = [TaskKind(KindId(1), "py/", str(n), ONE_CPU) for n in range(NAMES_REMEMBERED + 1)]
    first = graph.learned_of(kinds[0])
    second = graph.learned_of(kinds[1])
    assert graph.learned_of(kinds[0]) is first  # used again: not the oldest any more
    for kind in kinds[2:]:
        graph.learned_of(kind)
    assert len(graph.learned) == NAMES_REMEMBERED
    assert graph.learned_of(kinds[0]) is first
    assert graph.learned_of(kinds[1]) is not second


def test_the_bandwidth_is_measured_from_copies_that_arrive() -> None:
    # given: two objects of one mebibyte, which another governor is told to fetch
    s = scene(1, 1)
    task, made = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=0, size=MEBIBYTE)
    for data_object in made:
        s.copy(data_object, to=1)
    # when: they come one after the other; a turn takes a second
    for data_object in made:
        s.governors[1].locate(data_object)
    # then: the first took two turns, and the second one more
    estimates = s.world.state.estimates
    assert estimates.downloads.seconds == pytest.approx(2 * 0.98 + 1)
    assert estimates.bandwidth == pytest.approx(MEBIBYTE * (1 + 0.98) / (2 * 0.98 + 1))


def test_a_link_that_was_only_waiting_for_the_other_end_does_not_count() -> None:
    # given: one governor sends to two others at once
    s = scene(1, 1, 1)
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0, size=MEBIBYTE)
    s.plan(
        lambda plan: plan.copy(s.world.object(made), s.node(1)),
        lambda plan: plan.copy(s.world.object(made), s.node(2)),
    )
    # when: both have it after three seconds
    now = s.world.now
    s.world.now += 2
    s.world.turn(
        *[GovernorUpdated(s.governors[i].id, s.governors[i].located(made)) for i in (1, 2)]
    )
    # then: each got a third per second, and twice as much was sent
    estimates = s.world.state.estimates
    assert s.world.now == now + 3
    assert estimates.downloads.pace == pytest.approx(MEBIBYTE / 3, rel=0.02)
    assert estimates.uploads.pace == estimates.bandwidth > MEBIBYTE / 3
