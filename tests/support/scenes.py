"""Where most tests of the server start: a few governors, a client with a session, a scheduler."""

from __future__ import annotations

from collections.abc import Callable

from attrs import Factory, define

from rain.base.errors import PlanError
from rain.base.failures import OnFailure
from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.wire.orders import Orders
from rain.graph import Governor, Graph
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.throttle import Thresholds
from rain.server.core.messages import Effect, OrderGovernor
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.submissions import Draft
from tests.support.world import World, new_world

Step = Callable[[Plan], None]

SELDOM = ReactorSettings(
    debug=True, governor_silence=1e9, thresholds=Thresholds(submits=1e6, updates=1e6, nothing=1e6)
)
"""The scheduler is due only when a test asks for it."""


@define(eq=False)
class ScriptedScheduler:
    """Does in its next run what a test has written down, and remembers what it heard."""

    script: list[Step] = Factory(list)
    heard: list[News] = Factory(list)
    refused: list[PlanError] = Factory(list)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.heard.append(news)
        script, self.script = self.script, []
        for step in script:
            try:
                step(plan)
            except PlanError as error:
                self.refused.append(error)


@define(eq=False)
class Scene:
    """A world with governors, one client and its session."""

    world: World
    governors: list[FakeGovernor]
    client: FakeClient
    draft: Draft
    scripted: ScriptedScheduler

    def submit(self) -> None:
        """Submits the draft; the governors get nothing that nobody has planned."""
        self.client.submit(self.draft)

    def node(self, index: int) -> Governor:
        return self.governors[index].node

    def plan(self, *steps: Step) -> list[Effect]:
        """One turn in which the scheduler does this; raises what the rules forbid."""
        self.scripted.script += steps
        effects = self.world.turn()
        if self.scripted.refused:
            raise self.scripted.refused.pop()
        return effects

    def assign(self, *tasks: TaskId, to: int = 0, priority: int = 0) -> list[Effect]:
        """One turn in which the scheduler plans these tasks on one governor."""
        return self.plan(*[self.assigning(task, to=to, priority=priority) for task in tasks])

    def assigning(self, task: TaskId, to: int = 0, priority: int = 0) -> Step:
        """What makes the scheduler plan a task, unless the server has planned it just there."""

        def step(plan: Plan) -> None:
            node = self.world.task(task)
            if node.scheduled is not self.node(to):
                plan.assign(node, self.node(to), priority)

        return step

    def taking_back(self, task: TaskId) -> Step:
        """What makes the scheduler withdraw a task."""
        return lambda plan: plan.take_back(self.world.task(task))

    def take_back(self, *tasks: TaskId) -> list[Effect]:
        """The scheduler withdraws these tasks, and governors return what they are asked for.

        The effects of the last of these turns.
        """
        effects = self.plan(*[self.taking_back(task) for task in tasks])
        for governor in self.governors:
            if governor.asked:
                effects = governor.return_asked()
        return effects

    def copied(self, object_id: ObjectId, to: int) -> None:
        """A governor has got a copy that the scheduler wanted there."""
        self.copy(object_id, to)
        self.governors[to].locate(object_id)

    def copy(self, object_id: ObjectId, to: int) -> list[Effect]:
        """One turn in which the scheduler wants a copy on a governor."""
        return self.plan(lambda plan: plan.copy(self.world.object(object_id), self.node(to)))

    def drop(self, object_id: ObjectId, at: int) -> list[Effect]:
        """One turn in which the scheduler drops the copy of a governor."""
        return self.plan(lambda plan: plan.drop(self.world.object(object_id), self.node(at)))

    def run(self, task: TaskId, on: int = 0, size: int = 100_000) -> list[Effect]:
        """Plans a task, lets its inputs arrive, and finishes it; the effects of the last turn."""
        self.assign(task, to=on)
        governor = self.governors[on]
        if governor.fetching():
            governor.locate(*governor.fetching())
        return governor.finish(task, size=size)


def scene(
    *cpus: int,
    settings: ReactorSettings | None = None,
    on_failure: OnFailure = OnFailure.STOP,
) -> Scene:
    """A scene whose scheduler plans only what the test says."""
    scripted = ScriptedScheduler()
    made = scene_with(scripted, *cpus, settings=settings, on_failure=on_failure)
    made.scripted = scripted
    return made


def scene_with(
    scheduler: Scheduler,
    *cpus: int,
    settings: ReactorSettings | None = None,
    on_failure: OnFailure = OnFailure.STOP,
) -> Scene:
    """A scene with a scheduler that plans by itself."""
    world = new_world(lambda: scheduler, settings)
    governors = [world.governor(count) for count in cpus]
    client = world.client()
    return Scene(
        world, governors, client, client.session(on_failure=on_failure), ScriptedScheduler()
    )


def orders_in(effects: list[Effect]) -> dict[GovernorId, Orders]:
    """The batches of a turn; no governor may get two."""
    batches = [effect for effect in effects if isinstance(effect, OrderGovernor)]
    orders = {batch.governor: batch.orders for batch in batches}
    assert len(orders) == len(batches)
    return orders
