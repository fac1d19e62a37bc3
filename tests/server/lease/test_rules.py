"""Two servers never lead at once, whatever they are held up by, and however their clocks go."""

from __future__ import annotations

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.server.lease.rules import NOBODY, Holding, LeaseHolder, LeaseWatch, Record

LENGTH = 5.0
SLOWEST, FASTEST = 0.95, 1.05
"""How fast a clock may go, compared with a true one."""

RATES = st.floats(SLOWEST, FASTEST)


@define
class World:
    """The true time, and the record. Nobody but the test sees the true time."""

    now: float = 0.0
    record: Record = NOBODY
    led: list[tuple[str, float, float]] = field(factory=list)  # who could act, from when to when


@define
class Server:
    """A server, one step at a time. Each step may be any time after the one before."""

    world: World
    name: str
    rate: float
    holding: Holding | None = None
    watching: LeaseWatch = field(factory=LeaseWatch)
    _planned: str = "look"
    _seen: Record = NOBODY
    _began: float = 0.0
    _after: Record = NOBODY
    _put: bool = False

    @property
    def clock(self) -> float:
        return 1000.0 + self.world.now * self.rate

    def until(self) -> float:
        """The true time until which it may act."""
        assert self.holding is not None
        return (self.holding.until - 1000.0) / self.rate

    def step(self) -> None:
        getattr(self, f"_{self._planned}")()

    def _look(self) -> None:
        """A standby, or a holder that renews: begins by reading."""
        if self.holding is not None and self.holding.holds(self.clock):
            self._began, self._after = self.clock, self.holding.record.renewed()
            self._planned = "renew"
            return
        self.holding = None
        self._began = self.clock
        self._planned = "read"

    def _read(self) -> None:
        self._seen = self.world.record
        self._planned = "judge"

    def _judge(self) -> None:
        self.watching.look(self._seen, self._began, self.clock)
        self._planned = "look"
        if self.watching.may_take():
            self._began = self.clock
            self._planned = "take"

    def _take(self) -> None:
        """As the file of the next generation is made: nobody looks at what beats it had."""
        after = self._seen.taken_by(LeaseHolder(self.name), LENGTH)
        self._put = self.world.record.generation < after.generation
        if self._put:
            self.world.record = self._after = after
        self._planned = "taken"

    def _taken(self) -> None:
        holding = Holding.of(self._after, self._began)
        if self._put and holding.holds(self.clock):
            self.holding = holding
            self.world.led.append((self.name, self.world.now, self.until()))
        self._planned = "look"

    def _renew(self) -> None:
        """Writes into the file of its own generation, even if there is a newer one by now."""
        if self.world.record.generation == self._after.generation:
            self.world.record = self._after
        self._planned = "renewed"

    def _renewed(self) -> None:
        assert self.holding is not None
        before = self.until()
        self.holding = self.holding.renewed(self._after, self._began, self.clock)
        if self.until() > before:
            self.world.led.append((self.name, self.world.now, self.until()))
        self._planned = "look"


STRETCHES = st.tuples(
    st.integers(0, 1), st.integers(1, 25), st.sampled_from([0.0, 0.02, 0.25, 0.5, 1.0, 4.0, 6.0])
)
"""One of the servers makes some steps with pauses before them, while the other one stands still."""


@settings(max_examples=1000, deadline=None)
@given(rates=st.tuples(RATES, RATES), stretches=st.lists(STRETCHES, min_size=3, max_size=25))
def test_two_servers_never_lead_at_once(
    rates: tuple[float, float], stretches: list[tuple[int, int, float]]
) -> None:
    world = World()
    servers = [Server(world, f"server {number}", rate) for number, rate in enumerate(rates)]
    for who, steps, pause in stretches:
        for _ in range(steps):
            world.now += pause
            servers[who].step()
    for name, begin, _ in world.led:
        for other, since, until in world.led:
            assert name == other or not since <= begin < until


@settings(max_examples=50, deadline=None)
@given(rate=RATES, other=RATES)
def test_a_server_that_has_died_is_followed_by_the_next_one(rate: float, other: float) -> None:
    world = World()
    first, second = Server(world, "first", rate), Server(world, "second", other)
    for _ in range(5):
        first.step()
    assert first.holding is not None
    for _ in range(100):
        world.now += 0.1
        second.step()
    assert second.holding is not None
    assert world.record.generation == 2


@settings(max_examples=50, deadline=None)
@given(rate=RATES, other=RATES)
def test_a_server_that_renews_keeps_the_lease(rate: float, other: float) -> None:
    world = World()
    first, second = Server(world, "first", rate), Server(world, "second", other)
    for _ in range(5):
        first.step()
    for _ in range(200):
        world.now += 0.3
        first.step()
        second.step()
        assert first.holding is not None
        assert first.holding.holds(first.clock)
    assert world.record.generation == 1


# One rule at a time.

HELD = Record(3, LeaseHolder("one"), LENGTH)


def test_a_renewal_that_took_too_long_gains_nothing() -> None:
    holding = Holding.of(HELD, 100.0)
    late = holding.renewed(HELD.renewed(), began=104.0, now=104.5)
    assert late.until == holding.until
    assert late.record.beat == 1
    assert holding.renewed(HELD.renewed(), began=104.0, now=104.1).until > holding.until


def test_each_change_gives_the_holder_its_whole_time() -> None:
    watching = LeaseWatch()
    watching.look(HELD, 10.0, 10.1)
    watching.look(HELD, 15.0, 15.3)
    assert not watching.may_take()
    watching.look(HELD.renewed(), 15.4, 15.5)
    watching.look(HELD.renewed(), 20.4, 99.0)
    assert not watching.may_take()
    assert watching.left(20.4) > 0.0
    watching.look(HELD.renewed(), 20.5, 99.0)
    assert watching.may_take()


def test_what_was_let_go_or_has_ended_may_be_taken_at_once() -> None:
    watching = LeaseWatch()
    assert watching.may_take()  # nobody has ever had it
    watching.look(HELD, 0.0, 0.1)
    assert watching.may_take(has_ended=True)
    assert not watching.may_take()
    watching.look(HELD.let_go(), 0.2, 0.3)
    assert watching.may_take()


def test_a_generation_is_above_those_of_the_lease_and_of_the_journal() -> None:
    assert HELD.taken_by(LeaseHolder("two"), LENGTH).generation == 4
    assert HELD.taken_by(LeaseHolder("two"), LENGTH, above=9).generation == 10


def test_a_holder_with_the_slowest_clock_stops_before_the_fastest_one_says_that_it_may() -> None:
    holding = Holding.of(HELD, 0.0)
    watching = LeaseWatch()
    watching.look(HELD, 0.0, 0.0)
    stops = holding.until / SLOWEST  # in true seconds
    watching.look(HELD, stops * FASTEST, 99.0)
    assert not holding.holds(stops * SLOWEST)
    assert not watching.may_take()
