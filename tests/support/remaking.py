"""Makes all turns of a world again without its scheduler, by what its turns have decided."""

from __future__ import annotations

from collections.abc import Iterable

from rain.scheduler.rain import RainScheduler
from rain.server.messages import Effect, SchedulerFailed
from rain.server.reactor import Reactor
from rain.server.state import State
from tests.support.whole_state import whole
from tests.support.world import World


def remake(world: World) -> State:
    """The same effects in every turn, and the same state at the end."""
    again = Reactor(RainScheduler, State(world.state.settings))
    for given, output in zip(world.turns, world.outputs, strict=True):
        made = again.turn_again(given, output.silent, output.plans)
        assert made.effects == told(output.effects)
    assert whole(again.state) == whole(world.state)
    return again.state


def told(effects: Iterable[Effect]) -> list[Effect]:
    """All but complaints of the scheduler, which nobody asks when a turn is made again."""
    return [effect for effect in effects if not isinstance(effect, SchedulerFailed)]
