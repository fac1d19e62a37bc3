"""Random runs in which tasks submit tasks, hand on to them, are lost, and find them again."""

from __future__ import annotations

from random import Random

import pytest
from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from rain.base.failures import OnFailure
from rain.base.ids import TaskId
from rain.base.kinds import SAME
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.common.sameness import place_of
from tests.server.test_random_runs import RandomRuns
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.machine import seldom, which
from tests.support.submissions import Draft
from tests.support.world import CLUSTER

AT_WORK = (TaskRow.RUNNING, TaskRow.BLOCKED)

ENDS = [RunCause.EXECUTOR, RunCause.EXECUTOR, RunCause.TIMEOUT, RunCause.TASK]

Call = tuple[bytes, int, bool, int]
"""Config, outputs, whether they are kept, and what it reads."""

calls = st.tuples(
    st.sampled_from([b"a", b"b"]), st.sampled_from([1, 1, 2, 0]), st.booleans(), which
)
some_calls = st.lists(calls, min_size=1, max_size=3)


@define(eq=False)
class Nested:
    """A session that a task has opened, and who has it."""

    client: FakeClient
    draft: Draft
    parent: TaskId


class RandomNesting(RandomRuns):
    """The same, where tasks have tasks of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.nested: list[Nested] = []
        self.calls: dict[TaskId, list[Call]] = {}  # what a task has submitted

    def at_work(self) -> list[tuple[FakeGovernor, TaskId]]:
        """The tasks that run, as the server and their governors agree."""
        tasks = self.world.state.graph.tasks
        return [
            (governor, task_id)
            for governor in self.world.governors
            for task_id in governor.runnable()
            if (task := tasks.get(task_id)) is not None
            and task.row in AT_WORK
            and task.kind.task_type != SAME
            and task.last_run().number == governor.tasks[task_id]
        ]

    def open(self) -> list[Nested]:
        """The sessions that their clients have still."""
        sessions = self.world.state.graph.sessions
        self.nested = [
            one
            for one in self.nested
            if one.client in self.world.clients
            and (session := sessions.get(one.draft.session)) is not None
            and session.failure is None
            and not session.is_left
        ]
        return self.nested

    @precondition(RandomRuns.has_governors)
    @rule(number=which, choice=st.sampled_from(OnFailure), new=some_calls, anew=seldom)
    def a_task_submits(self, number: int, choice: OnFailure, new: list[Call], anew: bool) -> None:
        self.begin_and_submit(number, choice, new, anew)

    def begin_and_submit(self, number: int, choice: OnFailure, new: list[Call], anew: bool) -> None:
        """A task that has been run before mostly submits what it has submitted then."""
        client = self.world.client()
        self.wild.deliver_all()
        for governor in self.world.governors:
            governor.start(*governor.runnable())
        at_work = self.at_work()
        if not at_work:
            return
        _, parent = at_work[number % len(at_work)]
        nested = Nested(client, client.session(on_failure=choice, parent=parent), parent)
        self.nested.append(nested)
        if anew or parent not in self.calls:
            self.calls[parent] = new
        self.submit_calls(nested, self.calls[parent])

    def submit_calls(self, nested: Nested, new: list[Call]) -> None:
        draft, made = nested.draft, [nested.draft.constant(b"function")]
        for config, outputs, keep, reads in new:
            inside = made[-1 - reads % 2 :] if reads % 3 == 0 else []  # of its arguments
            told = b"".join([config, *[place_of(CLUSTER, one) for one in inside]])
            given = made[reads % len(made)]
            task, objects = draft.task(given, config=told, outputs=outputs, keep=keep)
            if inside:
                draft.contain(task, *inside)
            made += objects
        nested.client.submit(draft)

    @precondition(lambda self: self.open())
    @rule(number=which, index=which, now=st.booleans())
    def a_task_hands_on(self, number: int, index: int, now: bool) -> None:
        self.hand_on(number, index, now)

    def hand_on(self, number: int, index: int, now: bool) -> None:
        found = self.running_parent(number)
        if found is None:
            return
        nested, governor = found
        graph = self.world.state.graph
        objects = graph.sessions[nested.draft.session].objects.values()
        kept = [one.id for one in objects if one.kept]
        outputs = len(graph.tasks[nested.parent].outputs)
        if kept and outputs:
            chosen = [kept[(index + place) % len(kept)] for place in range(outputs)]
            self.report(governor, governor.handed_on(nested.parent, *chosen), now)

    @precondition(lambda self: self.open())
    @rule(number=which, cause=st.sampled_from(ENDS), now=st.booleans())
    def a_parent_ends(self, number: int, cause: RunCause, now: bool) -> None:
        self.end_parent(number, cause, now)

    def end_parent(self, number: int, cause: RunCause, now: bool) -> None:
        found = self.running_parent(number)
        if found is not None:
            nested, governor = found
            self.report(governor, governor.failed(nested.parent, cause=cause), now)

    def running_parent(self, number: int) -> tuple[Nested, FakeGovernor] | None:
        self.wild.deliver_all()
        nested = self.open()
        if not nested:
            return None
        chosen = nested[number % len(nested)]
        there = [governor for governor, task_id in self.at_work() if task_id == chosen.parent]
        return (chosen, there[0]) if there else None

    @precondition(lambda self: self.open())
    @rule(number=which)
    def the_client_of_a_task_has_gone(self, number: int) -> None:
        self.the_client_has_gone(number)

    def the_client_has_gone(self, number: int) -> None:
        nested = self.open()
        if nested:
            nested[number % len(nested)].client.leave()

    @precondition(RandomRuns.has_sessions)
    @rule(seed=st.integers(0, 9999), steps=st.integers(1, 25))
    def families_live(self, seed: int, steps: int) -> None:
        """Much of all this, which is rare where anything may happen."""
        random = Random(seed)
        session = self.session(seed)
        task, made = session.draft.task(outputs=random.choice((1, 1, 2)), tries=3, keep=True)
        session.tasks.append(task)
        session.objects += made
        session.kept += made
        session.client.submit(session.draft)
        for _ in range(steps):
            self.live(random)

    def live(self, random: Random) -> None:
        number, now = random.randrange(16), random.random() < 0.7
        match random.randrange(8):
            case 0 | 1 | 2:
                call = random.choice((b"a", b"b")), random.choice((1, 1, 2, 0)), now, number
                self.begin_and_submit(number, random.choice(list(OnFailure)), [call] * 2, now)
            case 3:
                self.hand_on(number, random.randrange(16), now)
            case 4:
                self.end_parent(number, random.choice(ENDS), now)
            case 5 if random.random() < 0.2:
                self.the_client_has_gone(number)
            case 6 if self.world.governors:
                self.wild.work(self.governor(number), random.choice((7, 50_000)))
            case 7 if random.random() < 0.2 and len(self.world.governors) > 1:
                self.governor(number).leave()
            case _:
                self.world.turn()


TestRandomNesting = pytest.mark.no_cover(RandomNesting.TestCase)
TestRandomNesting.settings = settings(max_examples=examples(60), stateful_step_count=40)
