"""Limits of what a user uses: they hold with every scheduler, and tasks that wait say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.errors import PlanError
from rain.base.failures import OnFailure
from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.base.users import UserRule
from rain.scheduler.api import Plan, Scheduler
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import GovernorUpdated, Granted, Refuse, UsersRead
from rain.server.dashboard import present
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene, scene_with


def begin(scheduler: Scheduler, *rules: UserRule, cpus: int = 8) -> tuple[Scene, FakeClient]:
    s = scene_with(scheduler, cpus)
    s.world.turn(UsersRead(rules))
    return s, s.world.client("ada")


def told(s: Scene) -> list[TaskId]:
    """What the governor may run now."""
    return [task for governor in s.governors for task in governor.inputs]


def finish(s: Scene, task: TaskId, size: int = 10) -> None:
    (governor,) = s.governors
    s.world.turn(GovernorUpdated(governor.id, governor.finished(task, size=size)), after=1.0)


def rows(s: Scene, tasks: list[TaskId]) -> list[TaskRow]:
    return [s.world.task(task).row for task in tasks]


def why(s: Scene, task: TaskId) -> str:
    return present.why(s.world.state, s.world.task(task))


@pytest.mark.parametrize("make", SCHEDULERS.values(), ids=SCHEDULERS)
def test_no_scheduler_gives_a_user_more_cpus_than_allowed(make: Callable[[], Scheduler]) -> None:
    s, ada = begin(make(), UserRule("ada", cpus=3))
    s.world.reactor.scheduling.make = make  # a new one is made when the second user comes
    draft = ada.session()
    first = [draft.task()[0] for _ in range(10)]
    second = [draft.task(*draft.task()[1])[0] for _ in range(5)]
    ada.submit(draft)
    bob = s.world.client("bob")
    of_bob = bob.session()
    free = [of_bob.task()[0] for _ in range(5)]
    bob.submit(of_bob)
    seen: list[TaskId] = []
    for _ in range(60):
        s.world.turn(after=1.0)
        mine = [task for task in told(s) if task not in free]
        assert len(mine) <= 3
        if not mine:
            break
        seen.append(mine[0])
        finish(s, mine[0])
    assert len(seen) == 20
    assert {*first, *second} <= {*seen}
    assert {*free} <= {*told(s)}  # nobody else waits for it


def test_a_task_over_the_limit_says_what_it_waits_for() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", cpus=2))
    draft = ada.session()
    tasks = [draft.task()[0] for _ in range(3)]
    ada.submit(draft)
    s.world.turn(after=1.0)
    assert len(told(s)) == 2
    (waits,) = [task for task in tasks if task not in told(s)]
    assert why(s, waits) == (
        "It has no plan: ada uses 2 of 2 cpus (cpus in the file of users): the task waits for 1 of"
        " them."
    )


def test_a_limited_task_cannot_be_planned_and_a_scheduler_does_not_hear_of_it() -> None:
    s = scene(8)
    s.world.turn(UsersRead((UserRule("ada", cpus=1),)))
    ada = s.world.client("ada")
    draft = ada.session()
    tasks = [draft.task()[0] for _ in range(2)]
    ada.submit(draft)
    assert rows(s, tasks) == [TaskRow.READY, TaskRow.LIMITED]
    state = s.world.state
    with pytest.raises(PlanError) as error:
        Plan(state.graph).assign(s.world.task(tasks[1]), s.node(0))
    assert error.value.rule == "limited task"
    assert s.world.task(tasks[1]) not in [*state.news.submitted, *state.news.unplanned]


def test_a_task_that_can_never_fit_is_refused_by_name() -> None:
    _, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", cpus=2))
    draft = ada.session()
    draft.task(cpus=3)
    answer = ada.submit(draft)
    assert isinstance(answer, Refuse)
    assert "needs cpus=3, and ada may have 2 at a time (cpus in the file of users)" in str(
        answer.reason
    )


def test_one_that_does_not_fit_any_more_fails_by_name() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", cpus=4))
    draft = ada.session(on_failure=OnFailure.CONTINUE)
    first = draft.task(cpus=4)[0]
    second = draft.task(cpus=3)[0]
    ada.submit(draft)
    s.world.turn(after=1.0)
    s.world.turn(UsersRead((UserRule("ada", cpus=2),)))
    task = s.world.task(second)
    assert (s.world.task(first).row, task.row) == (TaskRow.ASSIGNED, TaskRow.FAILED)
    assert task.failure is not None
    assert "needs cpus=3, and ada may have 2" in task.failure.message


def test_a_limit_that_is_lifted_lets_all_run() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", cpus=1))
    draft = ada.session()
    tasks = [draft.task()[0] for _ in range(5)]
    ada.submit(draft)
    s.world.turn(after=1.0)
    assert len(told(s)) == 1
    s.world.turn(UsersRead(()))
    s.world.turn(after=1.0)
    assert {*told(s)} == {*tasks}


def test_a_new_limit_holds_for_what_has_not_begun() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), cpus=2)
    draft = ada.session()
    tasks = [draft.task()[0] for _ in range(6)]
    ada.submit(draft)
    s.world.turn(after=1.0)
    before = told(s)
    s.world.turn(UsersRead((UserRule("*", cpus=1),)))
    draft.task()
    ada.submit(draft)
    s.world.turn(after=1.0)
    assert told(s) == before
    for task in tasks:
        if task in told(s):
            finish(s, task)
    assert len(told(s)) == 1


def test_the_cpus_of_a_task_that_waits_for_its_tasks_are_free_for_them() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", cpus=1))
    (governor,) = s.governors
    draft = ada.session()
    parents = [draft.task(keep=True)[0] for _ in range(2)]
    ada.submit(draft)
    s.world.turn(after=1.0)
    (parent,) = told(s)
    governor.start(parent)
    inside = s.world.client()
    nested = inside.session(parent=parent)
    child, _ = nested.task()
    inside.submit(nested)
    s.world.turn(after=1.0)
    assert told(s) == [parent]
    governor.send(governor.waiting(parent))
    s.world.turn(after=1.0)
    assert {*told(s)} == {parent, child}
    assert TaskRow.LIMITED in rows(s, parents)  # the child goes before it


def test_the_sessions_of_a_limited_user_get_equal_parts() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", cpus=2))
    drafts = [ada.session() for _ in range(2)]
    made: list[list[TaskId]] = []
    for draft in drafts:
        made.append([draft.task()[0] for _ in range(4)])
        ada.submit(draft)
    s.world.turn(after=1.0)
    for _ in range(4):
        finish(s, told(s)[0])
    counts = [sum(s.world.task(task).is_done for task in tasks) for tasks in made]
    assert abs(counts[0] - counts[1]) <= 2
    assert {s.world.task(task).session.id for task in told(s)} == {d.session for d in drafts}


def test_who_stores_as_much_as_allowed_begins_nothing_new() -> None:
    s, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", bytes=1000))
    draft = ada.session()
    first, made = draft.task(keep=True)
    ada.submit(draft)
    s.world.turn(after=1.0)
    finish(s, first, size=2000)
    begins, _ = draft.task()
    reads, _ = draft.task(*made)
    assert isinstance(ada.submit(draft), Granted)
    s.world.turn(after=1.0)
    assert told(s) == [reads]
    assert why(s, begins) == (
        "It has no plan: ada stores 1.953KiB, and may store 1000B (bytes in the file of users): the"
        " task waits until some of that is released."
    )
    finish(s, reads)
    ada.unkeep(*made)
    s.world.turn(after=1.0)
    assert begins in told(s)


def test_constants_over_the_limit_are_refused() -> None:
    _, ada = begin(SCHEDULERS["horizon"](), UserRule("ada", bytes=10))
    draft = ada.session()
    draft.constant(b"x" * 100, keep=True)  # a small one, as the function of a call is
    assert isinstance(ada.submit(draft), Granted)
    draft.constant(b"x" * 20 * 1024)
    answer = ada.submit(draft)
    assert isinstance(answer, Refuse)
    assert "ada stores 100B and submits 20KiB more: 10B are allowed" in str(answer.reason)
