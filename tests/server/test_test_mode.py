"""Test mode: tests of schedulers say where data is and how large it looks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rain.base.ids import KindId, ObjectId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import ObjectState, TaskRow
from rain.rpc.codec import through_the_wire
from rain.scheduler.rain import RainScheduler
from rain.scheduler.round_robin import RoundRobinScheduler
from rain.server.core.messages import Granted, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.submissions import Draft
from tests.support.world import World, new_world

LARGE = 10_000_000


def a_world(*, test_mode: bool = True, governors: int = 3) -> tuple[World, list[FakeGovernor]]:
    settings = ReactorSettings(debug=True, governor_silence=1e9, test_mode=test_mode)
    world = new_world(RainScheduler, settings)
    return world, [world.governor() for _ in range(governors)]


def kind_with(draft: Draft, wish: Any) -> KindId:
    kind = KindId(draft.next_id())
    user = json.dumps({"_testing": wish})
    draft.submission.object_kinds.append(ObjectKind(kind, "tested", user=user))
    return kind


def constant_with(draft: Draft, wish: Any, data: bytes = b"tiny") -> ObjectId:
    made = draft.constant(data)
    draft.submission.constants.kinds[-1] = kind_with(draft, wish)
    return made


def a_session(world: World) -> tuple[FakeClient, Draft]:
    client = world.client()
    return client, client.session()


def test_a_constant_is_copied_to_its_governors_and_its_task_goes_there() -> None:
    world, governors = a_world()
    client, draft = a_session(world)
    wish = {"governors": [governors[2].address, governors[1].address], "size": LARGE}
    given = constant_with(draft, wish)
    task, _ = draft.task(given)
    # when
    client.submit(draft)
    # then
    node = world.object(given)
    assert node.located == (governors[2].node, governors[1].node)
    assert (node.expected_size, node.size) == (LARGE, 4)
    assert task in governors[2].tasks or task in governors[1].tasks


def test_tasks_follow_the_larger_of_two_sizes_that_are_not_true() -> None:
    world, governors = a_world()
    client, draft = a_session(world)
    small = constant_with(draft, {"governors": [governors[1].address], "size": LARGE}, b"x" * 99)
    large = constant_with(draft, {"governors": [governors[2].address], "size": 2 * LARGE})
    task, _ = draft.task(small, large)
    client.submit(draft)
    assert task in governors[2].tasks


def test_a_task_runs_where_its_output_is_wanted_and_the_output_is_copied_further() -> None:
    world, governors = a_world()
    client, draft = a_session(world)
    task, made = draft.task(keep=True)
    wish = {"governors": [governors[1].address, governors[2].address], "size": LARGE}
    output_kind = kind_with(draft, wish)
    (old,) = draft.submission.task_kinds
    draft.submission.task_kinds = [TaskKind(old.id, "py/", outputs=(output_kind,))]
    # when
    client.submit(draft)
    # then
    assert task in governors[1].tasks
    assert world.object(made[0]).expected_size == LARGE
    # when
    governors[1].finish(task, size=50)
    # then
    assert governors[2].fetching() == made
    assert (world.object(made[0]).expected_size, world.object(made[0]).size) == (LARGE, 50)
    assert not world.state.forced


def test_what_is_forced_does_not_collide_with_other_schedulers() -> None:
    settings = ReactorSettings(debug=True, governor_silence=1e9, test_mode=True)
    world = new_world(RoundRobinScheduler, settings)
    governors = [world.governor() for _ in range(2)]
    client, draft = a_session(world)
    tasks = [draft.task(keep=True)[0] for _ in range(4)]
    output_kind = kind_with(draft, {"governors": [governors[1].address]})
    (old,) = draft.submission.task_kinds
    draft.submission.task_kinds = [TaskKind(old.id, "py/", outputs=(output_kind,))]
    client.submit(draft)
    assert list(governors[1].tasks) == tasks


def test_a_task_that_does_not_fit_there_is_told_about_and_left_to_the_scheduler() -> None:
    world, governors = a_world(governors=1)
    large = world.governor(4)
    client, draft = a_session(world)
    task, _ = draft.task(keep=True, cpus=3)
    output_kind = kind_with(draft, {"governors": [governors[0].address]})
    (old,) = draft.submission.task_kinds
    draft.submission.task_kinds = [
        TaskKind(old.id, "py/", resources=old.resources, outputs=(output_kind,))
    ]
    client.submit(draft)
    assert "it does not fit" in world.notices[0].text
    assert task in large.tasks
    assert not world.state.forced


def test_constants_that_nobody_needs_are_forced_nowhere() -> None:
    world, governors = a_world()
    client, draft = a_session(world)
    given = constant_with(draft, {"governors": [governors[0].address]})
    client.submit(draft)
    assert world.object(given).state is ObjectState.REMOVED
    assert not world.state.forced
    assert not governors[0].copies


@pytest.mark.parametrize(
    "wish",
    [
        7,
        [],
        {"governor": ["127.0.0.1:9001"]},
        {"governors": "127.0.0.1:9001"},
        {"governors": [1]},
        {"size": -1},
        {"size": "1K"},
    ],
)
def test_a_wish_that_nobody_understands_is_refused_whole(wish: Any) -> None:
    world, _ = a_world()
    client, draft = a_session(world)
    draft.task(constant_with(draft, wish))
    answer = client.submit(draft)
    assert isinstance(answer, Refuse)
    assert "in test mode it must be" in str(answer.reason)
    assert not world.state.graph.tasks


def test_a_governor_that_is_not_there_is_named_with_those_that_are() -> None:
    world, governors = a_world(governors=1)
    client, draft = a_session(world)
    draft.task(constant_with(draft, {"governors": ["nowhere:1"]}))
    answer = client.submit(draft)
    assert isinstance(answer, Refuse)
    assert "'nowhere:1', which is not connected; there are: " in str(answer.reason)
    assert governors[0].address in str(answer.reason)


def test_without_test_mode_the_notes_are_only_notes() -> None:
    world, _ = a_world(test_mode=False, governors=1)
    client, draft = a_session(world)
    given = constant_with(draft, {"governors": ["nowhere:1"], "size": LARGE})
    task, _ = draft.task(given)
    assert isinstance(client.submit(draft), Granted)
    assert world.object(given).expected_size == 4
    assert world.task(task).row is TaskRow.ASSIGNED


def test_a_closed_session_forces_nothing_any_more() -> None:
    world, governors = a_world()
    client, draft = a_session(world)
    draft.task(keep=True)
    output_kind = kind_with(draft, {"governors": [governors[1].address]})
    (old,) = draft.submission.task_kinds
    draft.submission.task_kinds = [TaskKind(old.id, "py/", outputs=(output_kind,))]
    client.submit(through_the_wire_draft(draft))
    client.close(draft.session)
    assert not world.state.forced


def through_the_wire_draft(draft: Draft) -> Draft:
    """The draft after its notes have crossed the wire."""
    draft.submission = through_the_wire(draft.submission)
    return draft
