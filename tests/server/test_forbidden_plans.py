"""Plans that the rules forbid are refused, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import cast

import pytest

from rain.base.copies import CopyRow
from rain.base.errors import PlanError
from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.wire.orders import Orders
from rain.graph import DataObject, Governor, Task
from rain.graph.copy import row_of
from rain.scheduler.api import Plan
from rain.server.core.messages import OrderGovernor
from tests.support.scenes import Scene, scene
from tests.support.snapshot import snapshot


class Setting:
    """A graph with a node of every sort, for plans that the rules forbid."""

    def __init__(self) -> None:
        s = self.scene = scene(1, 1)
        done, (held,) = s.draft.task(keep=True)
        big, _ = s.draft.task(cpus=9)
        reader, _ = s.draft.task(held)
        planned, (unmade,) = s.draft.task(held)
        last, (after,) = s.draft.task(unmade)
        other, _ = s.draft.task(held)
        s.submit()
        s.run(done, on=0)
        s.assign(reader, to=1)
        s.governors[1].locate(held)
        s.assign(last, to=0)
        self.ids: dict[str, int] = {
            "other": other,
            "done": done,
            "big": big,
            "reader": reader,
            "ready": planned,
            "planned": last,
            "held": held,
            "unmade": unmade,
            "after": after,
        }
        brief = s.client.session()
        gone, (gone_object,) = brief.task(keep=True)
        s.client.submit(brief)
        s.run(gone, on=0)
        self.gone, self.gone_object = s.world.task(gone), s.world.object(gone_object)
        s.client.close(brief.session)
        left = s.world.governor(4)
        self.left = left.node
        left.leave()
        self.copied = deepcopy(s.world.state.graph)

    def task(self, name: str) -> Task:
        return self.scene.world.task(TaskId(self.ids[name]))

    def object(self, name: str) -> DataObject:
        return self.scene.world.object(ObjectId(self.ids[name]))

    def copied_task(self, name: str) -> Task:
        return self.copied.tasks[TaskId(self.ids[name])]

    def copied_object(self, name: str) -> DataObject:
        return self.copied.objects[ObjectId(self.ids[name])]

    def copied_place(self, name: str) -> Governor:
        return self.copied_object(name).scheduled[0]

    def governor(self, index: int) -> Governor:
        return self.scene.node(index)


Forbidden = Callable[[Setting, Plan], None]

FORBIDDEN: dict[str, tuple[Forbidden, str]] = {
    "planning what is finished": (
        lambda at, plan: plan.assign(at.task("done"), at.governor(0)),
        "cannot be planned: it is finished",
    ),
    "planning what is planned": (
        lambda at, plan: plan.assign(at.task("planned"), at.governor(1)),
        "cannot be planned: it is planned",
    ),
    "planning what is assigned": (
        lambda at, plan: plan.assign(at.task("reader"), at.governor(1)),
        "cannot be planned: it is assigned",
    ),
    "planning what is planned beside others": (
        lambda at, plan: plan.assign_all([at.task("planned")], at.governor(1), [0]),
        "cannot be planned: it is planned",
    ),
    "planning many with too few priorities": (
        lambda at, plan: plan.assign_all([at.task("ready"), at.task("big")], at.governor(0), [0]),
        "2 tasks have 1 priorities",
    ),
    "planning with half a priority": (
        lambda at, plan: plan.assign(at.task("ready"), at.governor(0), cast("int", 1.5)),
        r"a priority is a whole number from .*, not 1\.5",
    ),
    "planning with a priority that is no number": (
        lambda at, plan: plan.assign(at.task("ready"), at.governor(0), cast("int", "high")),
        "a priority is a whole number from .*, not 'high'",
    ),
    "planning with a priority that no governor can be told": (
        lambda at, plan: plan.assign(at.task("ready"), at.governor(0), 10**30),
        "a priority is a whole number from .*, not 10{30}",
    ),
    "planning many with one priority that is none": (
        lambda at, plan: plan.assign_all(
            [at.task("ready"), at.task("other")], at.governor(0), [1, cast("int", 1.5)]
        ),
        r"a priority is a whole number from .*, not 1\.5",
    ),
    "planning many with one priority that is too large": (
        lambda at, plan: plan.assign_all(
            [at.task("ready"), at.task("other")], at.governor(0), [1, -(2**64)]
        ),
        "a priority is a whole number from .*, not -18446744073709551616",
    ),
    "planning on a number": (
        lambda at, plan: plan.assign(at.task("ready"), cast("Governor", 1)),
        r"^1 is no governor: take one of graph.governors.values\(\)$",
    ),
    "planning a number": (
        lambda at, plan: plan.assign(cast("Task", at.task("ready").id), at.governor(0)),
        r"^\d+ is no task: take those of the news$",
    ),
    "planning many on the address of a governor": (
        lambda at, plan: plan.assign_all([at.task("ready")], cast("Governor", "a:1"), [0]),
        "^'a:1' is no governor",
    ),
    "planning a task of a copied graph": (
        lambda at, plan: plan.assign(at.copied_task("ready"), at.governor(0)),
        "is not in the graph any more",
    ),
    "planning many tasks of a copied graph": (
        lambda at, plan: plan.assign_all([at.copied_task("ready")], at.governor(0), [0]),
        "is not in the graph any more",
    ),
    "planning on a governor of a copied graph": (
        lambda at, plan: plan.assign(at.task("ready"), at.copied.governors[at.governor(0).id]),
        "is not in the graph any more",
    ),
    "taking back a task of a copied graph": (
        lambda at, plan: plan.take_back(at.copied_task("planned")),
        "is not in the graph any more",
    ),
    "copying an object of a copied graph": (
        lambda at, plan: plan.copy(at.copied_object("held"), at.governor(1)),
        "is not in the graph any more",
    ),
    "dropping an object of a copied graph": (
        lambda at, plan: plan.drop(at.copied_object("held"), at.copied_place("held")),
        "is not in the graph any more",
    ),
    "planning many on a governor that has left": (
        lambda at, plan: plan.assign_all([at.task("ready")], at.left, [0]),
        "is not in the graph any more",
    ),
    "planning many tasks that are too big": (
        lambda at, plan: plan.assign_all([at.task("big")], at.governor(0), [0]),
        "has only",
    ),
    "planning a task of a closed session": (
        lambda at, plan: plan.assign(at.gone, at.governor(0)),
        "cannot be planned|not in the graph",
    ),
    "planning on a governor that has left": (
        lambda at, plan: plan.assign(at.task("ready"), at.left),
        "is not in the graph any more",
    ),
    "planning what does not fit": (
        lambda at, plan: plan.assign(at.task("big"), at.governor(0)),
        r"needs \{'cpus': 9\}, but .* has only \{'cpus': 1\}",
    ),
    "taking back what has no plan": (
        lambda at, plan: plan.take_back(at.task("ready")),
        "cannot be taken back: it is ready",
    ),
    "taking back what is finished": (
        lambda at, plan: plan.take_back(at.task("done")),
        "cannot be taken back: it is finished",
    ),
    "taking back a task of a closed session": (
        lambda at, plan: plan.take_back(at.gone),
        "cannot be taken back",
    ),
    "copying what is not made": (
        lambda at, plan: plan.copy(at.object("unmade"), at.governor(1)),
        "cannot be copied: it is not finished",
    ),
    "copying an object of a closed session": (
        lambda at, plan: plan.copy(at.gone_object, at.governor(1)),
        "is not in the graph any more",
    ),
    "copying to a governor that has left": (
        lambda at, plan: plan.copy(at.object("held"), at.left),
        "is not in the graph any more",
    ),
    "dropping what is not there": (
        lambda at, plan: plan.drop(at.copied_object("held"), at.governor(1)),
        "has no copy on",
    ),
    "dropping what is being made": (
        lambda at, plan: plan.drop(at.object("after"), at.governor(0)),
        "cannot be dropped: it is not made yet",
    ),
    "dropping what a task there reads": (
        lambda at, plan: plan.drop(at.object("held"), at.governor(1)),
        "cannot be dropped: a task on .* reads it",
    ),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_step_is_refused_and_changes_nothing(name: str) -> None:
    # given
    at = Setting()
    step, rule = FORBIDDEN[name]
    refused: list[PlanError] = []

    def attempt(plan: Plan) -> None:
        before = snapshot(plan.graph)
        with pytest.raises(PlanError, match=rule) as caught:
            step(at, plan)
        refused.append(caught.value)
        assert snapshot(plan.graph) == before
        assert not plan.touched
        assert not plan.stopped
        assert not plan.copies
        assert not plan.drops

    # when / then
    assert at.scene.plan(attempt) == []
    assert refused


def test_the_last_copy_cannot_be_dropped() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    with pytest.raises(PlanError, match="it is the last copy"):
        s.drop(a, at=0)


def test_a_copy_of_what_the_server_has_can_be_dropped() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].finish(task, data=b"small")
    assert s.drop(a, at=0) == [OrderGovernor(GovernorId(1), Orders(drops=[a]))]


def made_again() -> tuple[Scene, ObjectId]:
    """An object that is held by the very governor that is making it again."""
    s = scene(1, 1, 1)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=0)
    for index in (1, 2):
        s.copy(b, to=index)
        s.governors[index].locate(b)
    s.governors[0].leave()
    s.assign(task, to=2)
    assert row_of(s.world.object(a), s.node(2)) is CopyRow.MAKING
    return s, b


def test_a_copy_cannot_be_dropped_where_it_is_being_made_again() -> None:
    s, b = made_again()
    with pytest.raises(PlanError, match="makes it again"):
        s.drop(b, at=2)
