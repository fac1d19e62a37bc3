"""With every scheduler users get cpus by their weights."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.base.users import UserRule
from rain.graph import Graph, Task
from rain.scheduler import user_shares
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.shipped import SCHEDULERS
from rain.scheduler.user_shares import UserShares
from rain.server.core.messages import GovernorUpdated, UsersRead
from tests.scheduler.sharing import brought
from tests.support.fake_governor import FakeGovernor
from tests.support.remaking import come_back, remake
from tests.support.scenes import Scene, ScriptedScheduler
from tests.support.world import new_world

EVERY = pytest.mark.parametrize("make", SCHEDULERS.values(), ids=SCHEDULERS)


def scene_of(make: Callable[[], Scheduler], *cpus: int) -> Scene:
    world = new_world(make)
    governors = [world.governor(count) for count in cpus]
    client = world.client()
    return Scene(world, governors, client, client.session(), ScriptedScheduler())


def run(s: Scene, rounds: int, seconds: float) -> list[TaskId]:
    """In each round every governor runs its best tasks, one on each cpu."""
    done: list[TaskId] = []
    each = seconds / sum(governor.node.cpus for governor in s.governors)
    for _ in range(rounds):
        for governor in s.governors:
            if governor.asked:
                governor.return_asked()
            governor.locate(*governor.fetching())
        for governor in s.governors:
            for task in best(s, governor):
                update = governor.finished(task, size=10)
                update.finished.durations = [seconds]
                s.world.turn(GovernorUpdated(governor.id, update), after=each)
                done.append(task)
    return done


def best(s: Scene, governor: FakeGovernor) -> list[TaskId]:
    ready = [s.world.task(task) for task in governor.runnable()]
    ready.sort(key=lambda task: (-task.priority, task.order))
    return [task.id for task in ready[: governor.node.cpus]]


@EVERY
def test_a_weight_of_three_gives_three_times_as_much(make: Callable[[], Scheduler]) -> None:
    s = scene_of(make, 2, 2)
    s.world.turn(UsersRead((UserRule("bob", weight=3.0),)))
    brought(s, s.world.client("ada"), 90, 0.5)
    run(s, 2, 0.5)  # ada is alone
    of_bob = brought(s, s.world.client("bob"), 90, 0.5)
    run(s, 4, 0.5)
    done = run(s, 12, 0.5)
    assert len(done) >= 44  # of 48: no cpu is idle for long
    assert abs(len({*done} & {*of_bob}) - 36) <= 5


@EVERY
def test_nobody_waits_for_all_that_was_planned_before(make: Callable[[], Scheduler]) -> None:
    s = scene_of(make, 2)
    brought(s, s.world.client("ada"), 60, 0.5)
    run(s, 3, 0.5)
    late = brought(s, s.world.client("bob"), 1, 0.5)
    assert late[0] in run(s, 5, 0.5)


@EVERY
def test_all_is_done_in_the_end_while_governors_go(make: Callable[[], Scheduler]) -> None:
    random = Random(5)
    s = scene_of(make, 2, 1)
    tasks: list[TaskId] = []
    clients = [s.world.client(user) for user in ("ada", "bob", "eve")]
    for number in range(6):
        draft = clients[number % 3].session()
        for _ in range(6):
            task, (made,) = draft.task(cpus=random.choice((0, 1, 2)), keep=True)
            follower, _ = draft.task(made, keep=True)
            tasks += [task, follower]
        clients[number % 3].submit(draft)
        run(s, 1, 0.5)
        if number == 2:
            s.governors.append(s.world.governor(2))
        if number == 4:
            s.governors.pop(0).leave()
    run(s, 60, 0.5)
    assert all(s.world.task(task).row is TaskRow.FINISHED for task in tasks)


class Hoarding(RainScheduler):
    """Plans a few tasks at a time, the oldest first, and keeps the others to itself."""

    def __init__(self) -> None:
        self.backlog: dict[Task, None] = {}

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.backlog |= dict.fromkeys([*news.submitted, *news.unplanned])
        for governor in graph.governors.values():
            for task in sorted(self.backlog, key=lambda task: task.order):
                if len(governor.scheduled) < 2:
                    plan.assign(task, governor)
                    del self.backlog[task]


def test_a_plugin_that_keeps_its_tasks_to_itself_shares_as_well() -> None:
    s = scene_of(Hoarding, 2)
    brought(s, s.world.client("ada"), 60, 0.5)
    run(s, 3, 0.5)
    of_bob = brought(s, s.world.client("bob"), 60, 0.5)
    run(s, 4, 0.5)
    assert abs(len({*run(s, 20, 0.5)} & {*of_bob}) - 20) <= 4
    assert not s.world.scheduler_failures


def test_one_user_alone_waits_for_no_turns() -> None:
    s = scene_of(RainScheduler, 2)
    tasks = brought(s, s.world.client("ada"), 60, 0.5)
    assert {*s.governors[0].tasks} == {*tasks}


def test_a_scheduler_that_shares_by_itself_hears_of_everything() -> None:
    class Sharing(RainScheduler):
        shares_users = True

    s = scene_of(Sharing, 2)
    tasks = [task for user in ("ada", "bob") for task in brought(s, s.world.client(user), 30, 0.5)]
    assert {*s.governors[0].tasks} == {*tasks}


def test_tasks_that_fit_nowhere_hold_no_other_user_up() -> None:
    s = scene_of(RainScheduler, 2)
    ada = s.world.client("ada")
    draft = ada.session(on_failure=OnFailure.CONTINUE)
    for _ in range(20):
        draft.task(cpus=64)
    ada.submit(draft)
    of_bob = brought(s, s.world.client("bob"), 20, 0.5)
    assert {*of_bob} <= {*run(s, 20, 0.5)}


def test_a_user_who_is_left_alone_goes_on_without_turns() -> None:
    s = scene_of(RainScheduler, 2)
    tasks = brought(s, s.world.client("ada"), 60, 0.5)
    few = brought(s, s.world.client("bob"), 2, 0.5)
    done = run(s, 10, 0.5)
    assert {*few} <= {*done}
    s.world.turn(after=60.0)
    assert {*tasks} - {*done} == {*s.governors[0].tasks}


def planned(s: Scene) -> set[Task]:
    return {task for task in s.world.state.graph.tasks.values() if task.scheduled is not None}


def moved(s: Scene, turns: int) -> list[int]:
    """How many tasks lose or get a plan in each of these turns, in which nothing else happens."""
    counts: list[int] = []
    for _ in range(turns):
        before = planned(s)
        s.world.turn(after=0.01)
        counts.append(len(before ^ planned(s)))
    return counts


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_shares, "MOVES", 5)
    monkeypatch.setattr(user_shares, "LOOKS", 20)


@pytest.mark.usefixtures("small_turns")
def test_the_second_user_makes_no_turn_long() -> None:
    s = scene_of(RainScheduler, 2)
    brought(s, s.world.client("ada"), 200, 0.5)
    brought(s, s.world.client("bob"), 20, 0.5)
    counts = moved(s, 50)
    assert max(counts) <= 5
    assert sum(counts) > 60  # what was not sent to the governor before
    assert not any(moved(s, 5))
    s.governors[0].return_asked()
    assert len(planned(s)) <= 2 * user_shares.LEAD * 2


@pytest.mark.usefixtures("small_turns")
def test_governors_have_work_while_tasks_are_withdrawn() -> None:
    s = scene_of(RainScheduler, 2)
    of_ada = brought(s, s.world.client("ada"), 400, 0.5)
    of_bob = brought(s, s.world.client("bob"), 60, 0.5)
    begun = run(s, 10, 0.5)
    assert begun == of_ada[:20]  # no more is withdrawn yet, and nobody waits for that
    run(s, 40, 0.5)
    assert abs(len({*run(s, 15, 0.5)} & {*of_bob}) - 15) <= 3


@pytest.mark.usefixtures("small_turns")
def test_the_last_user_makes_no_turn_long() -> None:
    s = scene_of(RainScheduler, 2)
    brought(s, s.world.client("ada"), 100, 0.5)
    brought(s, s.world.client("bob"), 2, 0.5)
    run(s, 15, 0.5)
    s.world.turn(after=60.0)
    counts = moved(s, 40)
    assert max(counts) <= 5
    assert sum(counts) > 30
    assert planned(s) == {one for one in s.world.state.graph.tasks.values() if not one.is_done}


@pytest.mark.usefixtures("small_turns")
def test_a_user_who_comes_while_the_last_one_is_given_all_tasks_gets_a_share() -> None:
    s = scene_of(RainScheduler, 2)
    brought(s, s.world.client("ada"), 100, 0.5)
    bob = s.world.client("bob")
    brought(s, bob, 2, 0.5)
    run(s, 15, 0.5)
    s.world.turn(after=60.0)
    assert sum(moved(s, 3)) > 0
    late = brought(s, bob, 30, 0.5)
    run(s, 12, 0.5)
    assert abs(len({*run(s, 10, 0.5)} & {*late}) - 10) <= 3


@EVERY
@pytest.mark.usefixtures("small_turns")
def test_all_is_done_in_the_end_in_small_turns(make: Callable[[], Scheduler]) -> None:
    test_all_is_done_in_the_end_while_governors_go(make)


def test_a_server_that_returns_goes_on_with_the_shares() -> None:
    s = scene_of(RainScheduler, 2)
    of_ada = brought(s, s.world.client("ada"), 30, 0.5)
    of_bob = brought(s, s.world.client("bob"), 30, 0.5)
    done = run(s, 5, 0.5)
    come_back(s.world)
    done += run(s, 10, 0.5)
    assert abs(len({*done} & {*of_bob}) - 15) <= 4
    done += run(s, 20, 0.5)
    assert {*done} == {*of_ada, *of_bob}
    remake(s.world)


def test_the_checker_finds_a_task_that_nobody_would_let_on() -> None:
    s = scene_of(RainScheduler, 2)
    brought(s, s.world.client("ada"), 30, 0.5)
    brought(s, s.world.client("bob"), 30, 0.5)
    shares = s.world.reactor.scheduling.shares
    assert isinstance(shares, UserShares)
    assert not list(shares.contradictions(s.world.state.news))
    task = next(task for task in s.world.state.graph.tasks.values() if task.scheduled is None)
    shares.lines[task.session].ready.clear()
    assert f"{task!r} is kept from the scheduler, and nothing ends that" in [
        *shares.contradictions(s.world.state.news)
    ]
