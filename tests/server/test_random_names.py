"""Random runs with durable sessions: what is under a name stays until the name is removed."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId
from rain.server.core.messages import Granted
from tests.server.test_random_references import RandomReferences
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.machine import seldom, which
from tests.support.wild import WildSession

NAMES = ["sweep", "fit"]
CALLS = [b"draw", b"fit", b"sum"]


class RandomNames(RandomReferences):
    """The same, where some sessions are durable, and programs run again."""

    def durable_sessions(self) -> list[WildSession]:
        sessions = self.world.state.graph.sessions
        return [one for one in self.wild.sessions if sessions[one.id].is_durable and one.owned]

    def a_client(self, number: int, *, new: bool) -> FakeClient:
        clients = self.world.clients
        return self.world.client() if new or not clients else clients[number % len(clients)]

    @precondition(lambda self: len(self.wild.sessions) < 5)
    @rule(number=which, new=st.booleans(), name=st.sampled_from(NAMES))
    def a_durable_session_is_opened(self, number: int, new: bool, name: str) -> None:
        client = self.a_client(number, new=new)
        draft = client.session(name, OnFailure.CONTINUE, durable=True)
        self.wild.sessions.append(WildSession(client, draft))

    @precondition(lambda self: bool(self.durable_sessions()))
    @rule(
        number=which,
        calls=st.lists(
            st.tuples(st.sampled_from(CALLS), which, st.sampled_from([1, 1, 2, 0])), min_size=1
        ),
        keyed=st.booleans(),
    )
    def a_program_makes_its_calls(
        self, number: int, calls: list[tuple[bytes, int, int]], keyed: bool
    ) -> None:
        """The same few calls, so that many of them were made before."""
        sessions = self.durable_sessions()
        session = sessions[number % len(sessions)]
        draft, before = session.draft, list[ObjectId]()
        for call, place, outputs in calls:
            inputs = before[-1:] if place % 2 else []
            task, made = draft.task(*inputs, outputs=outputs, config=call, keep=True)
            if keyed:
                draft.key(task, call, *inputs)
            session.tasks.append(task)
            session.objects += made
            session.kept += made
            before += made
        session.client.submit(draft)

    @precondition(lambda self: bool(self.world.state.durable.by_name))
    @rule(number=which, new=st.booleans(), really=seldom)
    def a_name_is_removed(self, number: int, new: bool, really: bool) -> None:
        if really:
            names = [*self.world.state.durable.by_name]
            client = self.a_client(number, new=new)
            assert isinstance(client.remove(names[number % len(names)]), Granted)

    @invariant()
    def names_agree(self) -> None:
        if hasattr(self, "wild"):
            assert not list(self.world.state.durable.contradictions(self.world.state.graph))

    def give_up_all(self) -> None:
        client = self.world.client()
        for name in [*self.world.state.durable.by_name]:
            assert isinstance(client.remove(name), Granted)
        super().give_up_all()


TestRandomNames = pytest.mark.no_cover(RandomNames.TestCase)
TestRandomNames.settings = settings(max_examples=examples(30), stateful_step_count=30)
