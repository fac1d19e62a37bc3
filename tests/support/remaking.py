"""Makes all turns of a world again from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import (
    Effect,
    GovernorResumed,
    SchedulerFailed,
    ServerReturned,
    TasksOverlooked,
)
from rain.server.core.reactor import Reactor
from rain.server.core.state import State
from rain.server.core.succession import Succession
from rain.server.journal.records import Decoder, Header, encode_header, make_again
from rain.server.journal.recovery import begin_anew
from tests.support.whole_state import whole
from tests.support.world import World


def remake(world: World) -> State:
    """The same effects in every turn, and the same state at the end."""
    *_, last = remake_each(world)
    assert whole(last) == whole(world.state)
    return last


def remake_each(world: World) -> Iterator[State]:
    """Makes one turn after the other, with the same effects."""
    state = State(world.state.settings, succession=Succession(world.state.succession.cluster))
    reactor = Reactor(RainScheduler, state)
    decoder = Decoder.of(encode_header(Header(1, state.settings)))
    turns = zip(world.journal, world.outputs, strict=True)
    for number, (record, output) in enumerate(turns):
        if number in world.returned:
            begin_anew(state, state.settings)
        effects: list[Effect] = []
        if record is not None:
            effects = make_again(reactor, decoder.turn(record)).effects
        assert effects == told(output.effects)
        yield state


def told(effects: Iterable[Effect]) -> list[Effect]:
    """All but complaints of the scheduler, which nobody asks when a turn is made again."""
    complaints = SchedulerFailed | TasksOverlooked
    return [effect for effect in effects if not isinstance(effect, complaints)]


def come_back(world: World) -> None:
    """The server dies between two turns, and another one goes on from its journal.

    Governors have heard all that it had said: links that cut are another subject.
    """
    state = remake(world)
    begin_anew(state, world.state.settings)
    world.reactor = Reactor(world.reactor.make, state, notes_plans=True)
    world.returned.append(len(world.turns))
    world.turn(ServerReturned())
    world.turn(*[GovernorResumed(governor.id, 0, 0) for governor in world.governors])
