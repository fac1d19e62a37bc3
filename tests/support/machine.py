"""The frame of the random runs: a world with any scheduler, in which everybody comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from rain.base.failures import OnFailure
from rain.base.wire.update import FinishedTasks, Update
from rain.graph.lateness import Rule
from rain.scheduler.api import Scheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.round_robin import RoundRobinScheduler
from rain.server.core.messages import (
    GovernorLeft,
    GovernorUpdated,
    Granted,
    TurnInput,
)
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.recording import decode, encode
from tests.support.chaos import ChaoticScheduler, Mood
from tests.support.fake_governor import FakeGovernor
from tests.support.remaking import come_back, remake
from tests.support.submissions import Draft
from tests.support.wild import WildSession, WildWorld
from tests.support.world import new_world

SILENCE = 1000.0
MOST_RETURNS = 2  # each makes all turns before it again

# Which of those that there are: taken modulo their number, so that shrinking leads to the first.
which = st.integers(0, 15)
some = st.lists(which, max_size=4)
seldom = st.sampled_from([False, False, False, True])


class ComingAndGoing(RuleBasedStateMachine):
    """Governors, clients and sessions, within what the protocol allows."""

    @initialize(
        name=st.sampled_from(["rain", "round-robin", "chaos"]),
        seed=st.integers(0, 1000),
        overbooking=st.integers(1, 4),
        ahead=st.integers(0, 4),
        tries=st.integers(1, 3),
        on_failure=st.sampled_from(OnFailure),
        at_once=st.sampled_from([1, 3, 10_000]),
    )
    def begin(
        self,
        name: str,
        seed: int,
        overbooking: int,
        ahead: int,
        tries: int,
        on_failure: OnFailure,
        at_once: int,
    ) -> None:
        self.mood = Mood()
        self.scheduler = name
        self.schedulers: dict[str, Callable[[], Scheduler]] = {
            "rain": RainScheduler,
            "round-robin": RoundRobinScheduler,
            "chaos": lambda: ChaoticScheduler(Random(seed), self.mood),
        }
        tuned = ReactorSettings(
            overbooking=overbooking,
            overbooking_ahead=ahead,
            grown_at_once=at_once,
            let_go_at_once=at_once,
            governor_silence=SILENCE,
            fetch_tries=tries,
            crash_limit=4 - tries,
            much_wait=2.5,  # some turns
            little_wait=4.5,
            infeasible_grace=1e9,  # else most sessions would end by that
            delivery_limit=20,
            lateness=Rule(fraction=0.3, quantile=0.5, factor=1.0, least=2.5),
            debug=True,
        )
        self.world = new_world(self.schedulers[name], tuned)
        self.wild = WildWorld(self.world)
        self.world.governor(cpus=2)
        client = self.world.client()
        self.wild.sessions.append(WildSession(client, client.session(on_failure=on_failure)))
        self.world.governor(cpus=4)

    def governor(self, number: int) -> FakeGovernor:
        return self.world.governors[number % len(self.world.governors)]

    def session(self, number: int) -> WildSession:
        return self.wild.sessions[number % len(self.wild.sessions)]

    def has_governors(self) -> bool:
        return bool(self.world.governors)

    def has_sessions(self) -> bool:
        return bool(self.wild.sessions)

    # Those who come and go.

    @precondition(lambda self: len(self.world.governors) < 4)
    @rule(cpus=st.integers(0, 4))
    def governor_joins(self, cpus: int) -> None:
        self.world.governor(cpus)

    @precondition(has_governors)
    @rule(number=which)
    def governor_is_killed(self, number: int) -> None:
        self.governor(number).leave()

    @precondition(has_governors)
    @rule(number=which)
    def governor_breaks_the_protocol(self, number: int) -> None:
        governor = self.governor(number)
        self.wild.deliver_all()  # by which its tasks may be cancelled, or it is let go
        running = [task for task, outputs in governor.outputs.items() if outputs]
        if running and governor in self.world.governors:
            run = governor.tasks[running[0]]
            governor.send(Update(finished=FinishedTasks([running[0]], [run], [0.1], [0], [], [])))
            assert governor.id in self.world.dismissed
            self.world.turn(GovernorLeft(governor.id, "its link was closed"))

    @precondition(lambda self: any(governor.tasks for governor in self.world.governors))
    @rule(number=which, running=some)
    def a_busy_governor_drains(self, number: int, running: list[int]) -> None:
        busy = [governor for governor in self.world.governors if governor.tasks]
        governor = busy[number % len(busy)]
        self.wild.deliver_all()
        if governor in self.world.governors:
            runnable = governor.runnable()
            chosen = dict.fromkeys(runnable[i % len(runnable)] for i in running if runnable)
            governor.drain(*chosen)

    @rule(quiet=some, really=seldom)
    def some_governors_fall_silent(self, quiet: list[int], really: bool) -> None:
        silent = {number % 4 for number in quiet if really}
        loud = [g for index, g in enumerate(self.world.governors) if index not in silent]
        self.world.turn(
            *[GovernorUpdated(governor.id, Update()) for governor in loud], after=SILENCE + 1
        )
        drained = [governor for governor in loud if governor in self.world.released]
        draining = {told.governor for told in self.world.drains}
        assert all(governor.address in draining for governor in drained)
        assert self.world.governors == [governor for governor in loud if governor not in drained]

    @precondition(lambda self: len(self.wild.sessions) < 3)
    @rule(number=which, new_client=st.booleans(), on_failure=st.sampled_from(OnFailure))
    def session_opens(self, number: int, new_client: bool, on_failure: OnFailure) -> None:
        clients = self.world.clients
        client = (
            self.world.client() if new_client or not clients else clients[number % len(clients)]
        )
        self.wild.sessions.append(WildSession(client, client.session(on_failure=on_failure)))

    @precondition(lambda self: self.wild.living() and len(self.wild.sessions) < 5)
    @rule(number=which)
    def another_client_joins_a_session(self, number: int) -> None:
        living = self.wild.living()
        session = living[number % len(living)]
        client = self.world.client()
        joined = client.join(session.id)
        draft = Draft(joined.session, joined.first)
        self.wild.sessions.append(WildSession(client, draft, owned=False))

    @precondition(has_sessions)
    @rule(number=which, really=seldom)
    def session_closes(self, number: int, really: bool) -> None:
        session = self.session(number)
        if not really:
            return
        answer = session.client.close(session.id)
        assert isinstance(answer, Granted) == session.owned
        if session.owned:
            self.wild.ended(session.id)

    @precondition(lambda self: self.world.clients)
    @rule(number=which, really=seldom)
    def client_leaves(self, number: int, really: bool) -> None:
        if not really:
            return
        client = self.world.clients[number % len(self.world.clients)]
        client.leave()
        theirs = [session for session in self.wild.sessions if session.client is client]
        self.wild.sessions = [s for s in self.wild.sessions if s not in theirs]
        self.wild.ended(*[session.id for session in theirs if session.owned])

    def report(self, governor: FakeGovernor, update: Update, now: bool) -> None:
        self.wild.post(governor, update)
        if now:
            self.wild.deliver(governor.id, len(self.wild.outboxes[governor.id]))

    @rule(rounds=st.integers(1, 3), size=st.sampled_from([7, 50_000]))
    def all_goes_well_for_a_while(self, rounds: int, size: int) -> None:
        for _ in range(rounds):
            self.wild.deliver_all()
            for governor in self.world.governors:
                self.wild.work(governor, size)
        self.wild.deliver_all()

    @rule(steps=st.integers(0, 6))
    def the_scheduler_will_be_interrupted(self, steps: int) -> None:
        self.world.interrupt_after = steps

    @rule(seed=st.integers(0, 9999), steps=st.integers(1, 15))
    def a_wild_while(self, seed: int, steps: int) -> None:
        random = Random(seed)
        for _ in range(steps):
            self.wild.mischief(random)

    @precondition(lambda self: len(self.world.returned) < MOST_RETURNS)
    @rule(really=seldom)
    def the_server_dies_and_comes_back(self, really: bool) -> None:
        if really:
            come_back(self.world)

    def make_it_again(self) -> None:
        """The same events, written down and read back, have the same effects."""
        if self.world.returned:  # a new scheduler has planned in another way
            remake(self.world)
            return
        again = new_world(self.schedulers[self.scheduler], self.world.state.settings)
        for given, expected in zip(self.world.turns, self.world.effects, strict=True):
            turn = again.reactor.turn(decode(TurnInput, encode(given)))
            assert turn.effects == expected
        remake(self.world)
