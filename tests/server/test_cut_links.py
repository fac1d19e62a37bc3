"""A server and its governors go on, wherever their links are cut and whenever the server dies.

Both reactors are the real ones. A message is under way until it is delivered; a cut loses all that
is under way, and the death of the server also all that it has in memory: it comes back as what its
turns make of it again. Whatever happens, every run is started once, and nothing is lost.
"""

from __future__ import annotations

from collections import deque

import pytest
from attrs import Factory, define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rain.base.ids import GovernorId, ObjectId
from rain.base.resources import Resources
from rain.base.states import TaskState
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update
from rain.governor.core.reactor import HEARTBEAT
from rain.graph import check
from rain.server.core import resuming
from rain.server.core.messages import (
    GovernorAway,
    GovernorJoined,
    GovernorResumed,
    GovernorUpdated,
    ServerReturned,
    TurnInput,
)
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.returning_clients import MOST_RETURNS
from rain.server.recording import decode, encode
from tests.governor import world as governor_world
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.submissions import Draft
from tests.support.world import World, new_world

RETURNS = ReactorSettings(
    debug=True, governor_silence=1e9, governor_grace=1e9, much_wait=0.0, returns=True
)
which = st.integers(0, 9)


@define(eq=False)
class Line:
    """What is under way between the server and one governor."""

    orders: deque[Orders] = Factory(deque)
    updates: deque[Update] = Factory(deque)
    confirmed: deque[int] = Factory(deque)
    is_open: bool = True

    def cut(self) -> None:
        self.is_open = False
        for way in (self.orders, self.updates, self.confirmed):
            way.clear()


class RealGovernor(governor_world.World):
    """The reactor of a governor, and the executors that it has started."""

    def __init__(self, line: Line) -> None:
        super().__init__(Resources(2))
        self.line = line
        self.reactor.numbers.counts = True

    def hear(self, update: Update) -> None:
        super().hear(update)
        if self.line.is_open:
            self.line.updates.append(update)

    def note(self, orders: Orders) -> None:
        if orders.number > self.reactor.numbers.heard:  # else it ignores them
            super().note(orders)

    def work_a_little(self) -> None:
        """Its executors do what they have, and what it fetches arrives."""
        unready = [number for number, one in self.executors.items() if not one.ready]
        self.ready(*unready)
        for number in list(self.executors):
            self.work(number)
        for fetch in list(self.fetches):
            self.fetched(fetch, b"fetched")


@define(eq=False)
class Linked(FakeGovernor):
    """Puts what the server orders on the line."""

    line: Line = Factory(Line)
    real: RealGovernor = Factory(lambda self: RealGovernor(self.line), takes_self=True)

    def take(self, orders: Orders) -> None:
        if self.line.is_open:
            self.line.orders.append(orders)


class CutLinks(RuleBasedStateMachine):
    """Two governors with lines that are cut."""

    world: World
    client: FakeClient
    draft: Draft

    @initialize()
    def begin(self) -> None:
        self.world = new_world(settings=RETURNS)
        for number in (1, 2):
            linked = Linked(self.world, GovernorId(number), f"h:{number}")
            self.world.governors.append(linked)
            self.world.turn(GovernorJoined(linked.id, linked.address, Resources(2)))
        self.world.last_governor = 2
        self.client = self.world.client()
        self.draft = self.client.session()
        self.made: list[ObjectId] = []

    def linked(self, number: int) -> Linked:
        found = self.world.governors[number % 2]
        assert isinstance(found, Linked)
        return found

    @rule(inputs=st.lists(st.lists(which, max_size=2), min_size=1, max_size=4))
    def submit(self, inputs: list[list[int]]) -> None:
        for some in inputs:
            read = dict.fromkeys(self.made[i % len(self.made)] for i in some if self.made)
            self.made += self.draft.task(*read, keep=True)[1]
        self.client.submit(self.draft)

    @rule(number=which, count=st.integers(1, 3))
    def orders_arrive(self, number: int, count: int) -> None:
        linked = self.linked(number)
        for _ in range(min(count, len(linked.line.orders))):
            linked.real.order(linked.line.orders.popleft())

    @rule(number=which)
    def a_governor_works(self, number: int) -> None:
        self.linked(number).real.work_a_little()

    @rule(number=which)
    def time_passes_for_a_governor(self, number: int) -> None:
        self.linked(number).real.tick(HEARTBEAT)

    @rule(number=which, count=st.integers(1, 3))
    def news_arrive(self, number: int, count: int) -> None:
        linked = self.linked(number)
        updates = linked.line.updates
        some = [updates.popleft() for _ in range(min(count, len(updates)))]
        if some:
            self.world.turn(*[GovernorUpdated(linked.id, update) for update in some])
            linked.line.confirmed.append(linked.node.applied)

    @rule(number=which)
    def a_confirmation_arrives(self, number: int) -> None:
        linked = self.linked(number)
        if linked.line.confirmed:
            linked.real.reactor.numbers.confirm(linked.line.confirmed.popleft())

    @rule(number=which)
    def a_link_is_cut(self, number: int) -> None:
        linked = self.linked(number)
        if linked.line.is_open:
            linked.line.cut()
            self.world.turn(GovernorAway(linked.id, "cut"))

    @rule(number=which)
    def a_governor_resumes(self, number: int) -> None:
        linked = self.linked(number)
        line, numbers = linked.line, linked.real.reactor.numbers
        if line.is_open:
            return
        node = linked.node
        assert resuming.why_not(node, numbers.heard, numbers.applied) == ""
        applied, missed = node.applied, resuming.missed(node, numbers.heard)
        line.is_open = True
        line.orders.extend(missed)
        line.updates.extend(numbers.missed(applied))
        self.world.turn(GovernorResumed(linked.id, numbers.heard, numbers.sent))

    def all_are_waited_for(self) -> bool:
        """After too many returns in a row the server gives up who is missing."""
        governors = self.world.state.graph.governors.values()
        return all(one.away is None or one.away.returns < MOST_RETURNS for one in governors)

    @precondition(all_are_waited_for)
    @rule()
    def the_server_dies_and_comes_back(self) -> None:
        for number in (0, 1):
            self.linked(number).line.cut()
        again = new_world(settings=RETURNS)
        for given in self.world.turns:
            again.reactor.turn(decode(TurnInput, encode(given)))
        self.world.reactor = again.reactor
        self.world.turn(ServerReturned())

    @invariant()
    def every_run_is_started_once(self) -> None:
        if not hasattr(self, "world"):
            return
        for number in (0, 1):
            starts = self.linked(number).real.starts
            assert set(starts.values()) <= {1}

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        # when: nothing is cut any more
        for _ in range(20 + 4 * len(self.made)):
            for number in (0, 1):
                self.a_governor_resumes(number)
                self.orders_arrive(number, 100)
                self.a_governor_works(number)
                self.time_passes_for_a_governor(number)
                self.news_arrive(number, 100)
                self.a_confirmation_arrives(number)

        # then: every task has run once, and nobody keeps anything
        state = self.world.state
        check(state.graph)
        assert {task.state for task in state.graph.tasks.values()} <= {TaskState.FINISHED}
        ran = sum(self.linked(number).real.starts.total() for number in (0, 1))
        assert ran == len(state.graph.tasks)
        for number in (0, 1):
            linked = self.linked(number)
            assert not linked.node.unheard
            assert not linked.real.reactor.numbers.kept


TestCutLinks = pytest.mark.no_cover(CutLinks.TestCase)
TestCutLinks.settings = settings(max_examples=examples(60), stateful_step_count=40)
