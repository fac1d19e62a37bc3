"""Random runs with futures inside of arguments and data, and across sessions: nothing is lost or
left."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.server.core.messages import Granted
from tests.server.test_random_runs import RandomRuns
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.machine import ComingAndGoing, some, which
from tests.support.wild import WildSession


class RandomReferences(RandomRuns):
    """The same, where futures go from hand to hand."""

    def __init__(self) -> None:
        super().__init__()
        self.visits: list[tuple[FakeClient, ObjectId]] = []

    def shared(self) -> list[ObjectId]:
        """What can be given to others, the oldest first."""
        graph = self.world.state.graph
        return [
            one.id
            for session in graph.sessions.values()
            if session.on_failure is OnFailure.CONTINUE
            for one in session.objects.values()
            if (one.kept or one.needed_by) and one.producer not in graph.shadowed
        ]

    def going_on(self) -> list[WildSession]:
        sessions = self.world.state.graph.sessions
        return [
            one
            for one in self.wild.sessions
            if sessions[one.id].on_failure is OnFailure.CONTINUE and not sessions[one.id].is_left
        ]

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, inside=some, put=some, keep=st.booleans())
    def submit_what_has_futures_inside(
        self, number: int, inside: list[int], put: list[int], keep: bool
    ) -> None:
        session = self.session(number)
        draft, shared = session.draft, self.shared()
        function = draft.constant(b"function", keep=True)
        task, made = draft.task(function, keep=keep)
        box = draft.constant(b"box", keep=keep)
        if shared:
            draft.contain(task, *[shared[i % len(shared)] for i in inside])
            draft.contain(box, *[shared[i % len(shared)] for i in put])
        session.tasks.append(task)
        session.objects += [*made, box, function]
        session.kept += [*made, box, function] if keep else [function]
        session.client.submit(draft)

    @precondition(lambda self: self.going_on() and self.shared())
    @rule(number=which, inputs=st.lists(which, min_size=1, max_size=3), keep=st.booleans())
    def submit_what_reads_futures_of_others(
        self, number: int, inputs: list[int], keep: bool
    ) -> None:
        sessions, shared = self.going_on(), self.shared()
        session = sessions[number % len(sessions)]
        client = session.client
        wanted = sorted({shared[i % len(shared)] for i in inputs})
        if not isinstance(client.take(*wanted, keep=True), Granted):
            return
        self.visits += [(client, one) for one in wanted]
        task, made = session.draft.task(*wanted, keep=keep)
        session.tasks.append(task)
        session.objects += made
        session.kept += made if keep else []
        client.submit(session.draft)

    @precondition(lambda self: self.world.clients and self.shared())
    @rule(number=which, objects=some)
    def a_future_is_given_to_a_client(self, number: int, objects: list[int]) -> None:
        client = self.world.clients[number % len(self.world.clients)]
        shared = self.shared()
        taken = sorted({shared[i % len(shared)] for i in objects})
        if taken and isinstance(client.take(*taken, keep=True), Granted):
            self.visits += [(client, one) for one in taken]

    @precondition(lambda self: self.visits)
    @rule(number=which)
    def a_future_is_dropped(self, number: int) -> None:
        client, one = self.visits.pop(number % len(self.visits))
        if client in self.world.clients:
            client.drop(objects=(one,))

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, index=which, inside=some, inline=st.booleans(), now=st.booleans())
    def a_task_returns_futures(
        self, number: int, index: int, inside: list[int], inline: bool, now: bool
    ) -> None:
        governor = self.governor(number)
        runnable = governor.runnable()
        if not runnable:
            return
        task = runnable[index % len(runnable)]
        older = self.older(task)
        contents = [older[i % len(older)] for i in inside if older]
        data = b"futures" if inline else None
        self.report(governor, governor.finished(task, data=data, contents=contents), now)

    def older(self, task_id: TaskId) -> list[ObjectId]:
        """What a task may have got hold of: nothing comes out of itself that contains it."""
        task = self.world.state.graph.tasks.get(task_id)
        if task is None:
            return []
        objects = self.world.state.graph.objects
        return [
            one
            for one in self.shared()
            if (producer := objects[one].producer) is None or producer.order < task.order
        ]


TestRandomReferences = pytest.mark.no_cover(RandomReferences.TestCase)
TestRandomReferences.settings = settings(max_examples=examples(30), stateful_step_count=30)
