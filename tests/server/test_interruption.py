"""A scheduler that takes too long ends in its own turn, somebody else plans, and it comes anew."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import Factory, define

from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.graph import Graph
from rain.scheduler import shipped
from rain.scheduler.api import STEPS, News, Plan, Scheduler, SchedulerInterrupted
from rain.scheduler.rain import RainScheduler
from rain.server.core import scheduling
from rain.server.core.back_off import LONGEST, SOUND, Rest
from rain.server.core.messages import TurnInput
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.recording import decode, encode
from tests.support.runs import wild_run
from tests.support.scenes import Scene, scene, scene_with
from tests.support.world import new_world

LIMIT = ReactorSettings().scheduler_limit


@define(eq=False)
class First:
    """Plans all that is new on the first governor, and leaves marks everywhere."""

    heard: list[News] = Factory(list)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.heard.append(news)
        for task in news.submitted:
            task.sched = task.session.sched = graph.sched = self
            plan.assign(task, next(iter(graph.governors.values())))


@define(eq=False)
class Line:
    """Schedulers that were made one after the other."""

    made: list[First] = Factory(list)

    def __call__(self) -> First:
        self.made.append(First())
        return self.made[-1]


def first(*cpus: int) -> tuple[Scene, Line]:
    line = Line()
    world = new_world(line)
    governors = [world.governor(count) for count in cpus]
    client = world.client()
    world.state.status.name = "mine"
    return Scene(world, governors, client, client.session(), scene().scripted), line


def interrupt(s: Scene, after: int, *, tasks: int = 0) -> list[TaskId]:
    """A turn with new tasks whose scheduler is interrupted after this number of steps."""
    made = [s.draft.task()[0] for _ in range(tasks)]
    s.world.interrupt_after = after
    s.submit()
    return made


# The plan.


def test_a_plan_ends_with_its_last_step_and_later_ones_change_nothing() -> None:
    # given
    s = scene(1)
    tasks = [s.draft.task()[0] for _ in range(3)]
    s.submit()
    nodes = [s.world.task(task) for task in tasks]
    plan = Plan(s.world.state.graph, last=2)
    # when
    plan.assign(nodes[0], s.node(0))
    with pytest.raises(SchedulerInterrupted):
        plan.assign(nodes[1], s.node(0))
    with pytest.raises(SchedulerInterrupted):
        plan.assign(nodes[2], s.node(0))
    # then
    assert [node.row for node in nodes] == [TaskRow.QUEUED, TaskRow.QUEUED, TaskRow.READY]
    assert (plan.steps, plan.over) == (2, True)


def test_a_step_that_is_being_made_when_the_plan_ends_is_made_to_its_end() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()

    class Ending(Plan):
        """Ends while the rules are asked, as a signal would do it."""

        def __getattribute__(self, name: str) -> object:
            if name == "graph":
                self.over = True
            return super().__getattribute__(name)

    plan = Ending(s.world.state.graph)
    plan.over = False  # it has looked at its graph when it was made
    with pytest.raises(SchedulerInterrupted):
        plan.assign(s.world.task(task), s.node(0))
    assert s.world.task(task).row is TaskRow.QUEUED
    assert plan.steps == 1


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_no_step_is_begun_when_the_plan_is_over(step: Callable[..., None]) -> None:
    plan = Plan(Graph(), over=True)
    with pytest.raises(SchedulerInterrupted):
        step(plan, *[None] * (step.__code__.co_argcount - 1 - len(step.__defaults__ or ())))
    assert plan.steps == 0


def test_every_step_of_a_plan_can_be_told_from_the_scheduler_around_it() -> None:
    names = {step.__name__ for step in STEPS}
    assert names == {name for name in vars(Plan) if not name.startswith("_")} & {
        name for name, found in vars(Plan).items() if hasattr(found, "__code__")
    }


# The turn.


@pytest.mark.parametrize("after", [0, 1, 3])
def test_what_was_planned_until_then_stays_and_rain_plans_the_rest_at_once(after: int) -> None:
    # given
    s, _ = first(1, 1)
    # when
    tasks = interrupt(s, after, tasks=6)
    # then: the first ones went to the first governor; the others were dealt out
    one, other = s.governors
    assert set(tasks[:after]) <= set(one.tasks)
    assert len(one.tasks) == len(other.tasks) == 3
    (failure,) = s.world.scheduler_failures
    assert failure.cause == (
        f"it was interrupted after {LIMIT:g} seconds; rain plans in its place for the next"
        f" {LIMIT:g} seconds"
    )


def test_with_no_step_in_the_record_the_scheduler_is_not_called_at_all() -> None:
    s, line = first(1)
    runs = len(line.made[0].heard)
    interrupt(s, 0, tasks=1)
    assert len(line.made[0].heard) == runs


def test_while_it_rests_rain_plans_and_hears_only_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given
    s, line = first(1)
    rain = Watched()
    monkeypatch.setattr(scheduling, "RainScheduler", lambda: rain)
    old = interrupt(s, 0, tasks=2)
    assert [task.id for task in rain.heard[-1].submitted] == old
    # when
    new, _ = s.draft.task()
    s.submit()
    # then
    assert [task.id for task in rain.heard[-1].submitted] == [new]
    assert {*old, new} == set(s.governors[0].tasks)
    assert len(line.made) == 1


@define(eq=False)
class Watched(RainScheduler):
    heard: list[News] = Factory(list)

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.heard.append(news)
        super().schedule(graph, news, plan)


def test_a_new_one_hears_of_all_that_has_no_plan_and_of_every_governor() -> None:
    # given: nobody could run the large task yet
    s, line = first(1)
    s.draft.task()
    large, _ = s.draft.task(cpus=4)
    s.world.interrupt_after = 1
    s.submit()
    graph = s.world.state.graph
    assert [task.sched for task in graph.tasks.values()] == [None, None]
    assert [session.sched for session in graph.sessions.values()] == [None]
    assert not graph.sched
    joined = s.world.governor(cpus=4)
    s.world.task(large)
    # when
    s.world.turn(after=2 * LIMIT)
    # then
    assert len(line.made) == 2
    (news,) = line.made[1].heard
    assert news.joined == [s.node(0), joined.node]
    assert not news.finished
    assert large in joined.tasks  # rain has planned it meanwhile
    assert news.submitted == []


def test_what_rain_could_not_plan_either_a_new_one_is_told_in_order() -> None:
    s, line = first(1)
    made = [s.draft.task(cpus=4)[0] for _ in range(3)]
    s.world.interrupt_after = 0
    s.submit()
    s.world.reactor.scheduling.make = lambda: silent
    silent = Silent()
    s.world.turn(after=2 * LIMIT)
    assert [task.id for task in silent.heard[0].submitted] == made
    assert len(line.made) == 1


@define(eq=False)
class Silent:
    heard: list[News] = Factory(list)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.heard.append(news)


def test_what_comes_when_it_was_interrupted_does_not_wait_until_it_has_rested() -> None:
    # given: the border tells how long the run was, for which the scheduler would have to pause
    s, _ = first(1)
    interrupt(s, 0)
    s.world.run(TurnInput(s.world.now + LIMIT, scheduling_took=LIMIT))
    s.world.now += LIMIT
    # when
    task, _ = s.draft.task()
    s.submit()
    # then
    assert task in s.governors[0].tasks
    assert s.world.state.status.seconds == LIMIT


def test_the_status_says_how_long_it_rests() -> None:
    s, _ = first(1)
    interrupt(s, 0)
    status = s.world.state.status
    assert status.rests_until == s.world.now + 2 * LIMIT  # the run has taken one of them
    assert status.faults == 1


def test_rests_get_longer_up_to_a_limit() -> None:
    # given
    rest, now = Rest(10.0), 0.0
    lengths: list[float] = []
    # when: each new one is interrupted at once
    for _ in range(8):
        rest.begin(now)
        lengths.append(rest.length)
        now = rest.until + 1.0
    # then
    assert lengths == [10, 20, 40, 80, 160, 320, LONGEST * 10, LONGEST * 10]


def test_a_scheduler_that_has_planned_for_long_enough_begins_with_a_short_rest() -> None:
    rest = Rest(10.0)
    rest.begin(0.0)
    rest.begin(rest.until + SOUND * 10.0 - 1.0)
    assert rest.length == 20.0
    rest.begin(rest.until + SOUND * 20.0)
    assert rest.length == 10.0


def test_one_that_cannot_be_made_anew_is_told_about_and_tried_again() -> None:
    # given
    s, line = first(1)
    interrupt(s, 0)

    def refuse() -> Scheduler:
        raise OSError("no table")

    s.world.reactor.scheduling.make = refuse
    # when
    s.world.turn(after=2 * LIMIT)
    task, _ = s.draft.task()
    s.submit()
    # then
    assert s.world.scheduler_failures[-1].cause.startswith("it raised OSError: no table (")
    assert task in s.governors[0].tasks
    # and when
    s.world.reactor.scheduling.make = line
    s.world.turn()
    assert len(line.made) == 2


@pytest.mark.parametrize("raised", [ValueError, SystemExit, SchedulerInterrupted])
def test_whatever_else_it_raises_when_its_plan_is_over_it_was_interrupted(
    raised: type[BaseException],
) -> None:
    # given: a scheduler that turns the interruption into an error of its own
    class Turning(First):
        def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
            try:
                super().schedule(graph, news, plan)
            except SchedulerInterrupted:
                raise raised from None

    s = scene_with(Turning(), 1)
    # when
    interrupt(s, 1, tasks=2)
    # then
    (failure,) = s.world.scheduler_failures
    assert "interrupted" in failure.cause


def test_one_that_exits_only_fails() -> None:
    class Leaving:
        def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
            raise SystemExit(3)

    s = scene_with(Leaving(), 1)
    task, _ = s.draft.task()
    s.submit()
    assert task in s.governors[0].tasks
    assert s.world.scheduler_failures[0].cause.startswith("it raised SystemExit: 3 (")


# Every scheduler that comes with Rain.


@pytest.mark.no_cover
@pytest.mark.parametrize("name", shipped.SCHEDULERS)
@pytest.mark.parametrize("seed", range(2))
def test_each_of_ours_goes_on_where_one_was_interrupted_and_a_replay_is_exact(
    name: str, seed: int
) -> None:
    # given
    settings = ReactorSettings(overbooking=3, scheduler_limit=2.0, debug=True)
    wild = wild_run(seed, shipped.SCHEDULERS[name], settings)
    # when
    wild.settle()
    # then
    world = wild.world
    causes = {failure.cause.partition(";")[0] for failure in world.scheduler_failures}
    assert causes == {"it was interrupted after 2 seconds"}
    # and
    again = Reactor(shipped.SCHEDULERS[name], State(settings))
    for given, effects in zip(world.turns, world.effects, strict=True):
        assert again.turn(decode(TurnInput, encode(given))).effects == effects
