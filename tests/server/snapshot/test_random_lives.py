"""A state that was saved and loaded in the middle of any life goes on as if nothing had been."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import precondition, rule

from tests.server.test_random_names import RandomNames
from tests.support.effort import examples
from tests.support.machine import MOST_RETURNS, ComingAndGoing
from tests.support.remaking import come_back
from tests.support.twins import Twins, assert_same


class RandomLives(RandomNames):
    """The same as before, with a state that is saved, loaded, and lived on beside the first one."""

    @precondition(ComingAndGoing.has_governors)
    @rule()
    def the_state_is_saved_and_loaded(self) -> None:
        world = self.world
        world.reactor = Twins(self.schedulers[self.scheduler], world.state)

    @precondition(lambda self: not isinstance(self.world.reactor, Twins))
    @rule()
    def the_server_dies_and_comes_back(self) -> None:
        """Twins note no plans, so none of their turns could be made again."""
        if len(self.world.returned) < MOST_RETURNS:
            come_back(self.world)

    def make_it_again(self) -> None:
        """Schedulers were made anew in between: no run can be made again by one of them alone."""
        reactor = self.world.reactor
        if isinstance(reactor, Twins):
            assert_same(reactor.other.state, reactor.state)


TestRandomLives = pytest.mark.no_cover(RandomLives.TestCase)
TestRandomLives.settings = settings(max_examples=examples(30), stateful_step_count=30)
