"""Random lives of a governor, with the checker on after every turn."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from rain.base.ids import ObjectId
from rain.governor.core.events import ProcessesLeft
from rain.governor.core.results import Failed, Made, Outputs, PassedOn
from tests.governor.played_executor import PlayedExecutor
from tests.governor.server_rules import MEMORY, MIB, ServerRules
from tests.governor.settling import check_nothing_is_left, settle
from tests.governor.world import stored
from tests.support.effort import examples


class GovernorMachine(ServerRules):
    """What a server may order and what may happen around a governor, in any order."""

    # Executors.

    def executors(self) -> list[int]:
        return list(self.world.executors)

    def pick_executor(
        self, pick: int, fits: Callable[[PlayedExecutor], object] = bool
    ) -> int | None:
        known = [n for n, executor in self.world.executors.items() if fits(executor)]
        return known[pick % len(known)] if known else None

    @rule(pick=st.integers(0, 100))
    def an_executor_gets_ready(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: not executor.ready)
        if number is not None:
            self.world.ready(number)

    @rule(pick=st.integers(0, 100))
    def an_executor_starts_a_call(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.unstarted)
        if number is not None:
            self.world.start_next(number)

    @rule(
        pick=st.integers(0, 100),
        data=st.data(),
        duration=st.sampled_from((1e-5, 1e-3, 1.0)),
        peak=st.sampled_from((0, 100 * MIB, 1200 * MIB)),
    )
    def an_executor_answers(
        self, pick: int, data: st.DataObject, duration: float, peak: int
    ) -> None:
        number = self.pick_executor(pick, lambda one: one.running and not one.waits)
        if number is None:
            return
        call = self.world.executors[number].running
        assert call is not None
        inputs = [row if isinstance(row, int) else row[0] for row in call[3]]
        executor = self.world.executors[number]
        cleaned = executor.interrupted != call[0] or data.draw(st.booleans())
        self.world.answer(number, data.draw(self.result(len(call[4]), inputs)), duration, peak)
        if not cleaned and executor.unread is not None and len(executor.unread.tasks) == 1:
            self.world.turn(ProcessesLeft(number))

    @rule(pick=st.integers(0, 100))
    def a_call_waits_for_other_tasks(self, pick: int) -> None:
        number = self.pick_executor(
            pick, lambda one: one.running and one.able and not (one.waits or one.killed)
        )
        if number is not None:
            self.world.block(number)

    @rule(pick=st.integers(0, 100))
    def a_call_has_what_it_waited_for(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.waits)
        if number is not None:
            self.world.resume(number)

    @rule(pick=st.integers(0, 100))
    def answers_are_collected(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.unread)
        if number is not None:
            self.world.collect(number)

    @rule(pick=st.integers(0, 100))
    def an_executor_forgets_what_it_has_made(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.made)
        if number is not None and self.world.executors[number].running is None:
            self.world.executors[number].made.clear()

    @rule(pick=st.integers(0, 100), share=st.integers(1, 30))
    def an_executor_works(self, pick: int, share: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.unstarted)
        if number is None:
            return
        for _ in range(share):
            if not self.world.start_next(number):
                break
            self.world.answer(number, duration=2e-5)
        self.world.collect(number)

    @rule(
        executors=st.lists(st.sampled_from((20 * MIB, 200 * MIB, 1500 * MIB)), max_size=5),
        runs=st.lists(st.sampled_from((20 * MIB, 1500 * MIB)), max_size=3),
        left=st.sampled_from((-1, 0, MEMORY)),
    )
    def memory_is_looked_at(self, executors: list[int], runs: list[int], left: int) -> None:
        self.world.sample(*executors, runs=tuple(runs), left=left)

    @rule(pick=st.integers(0, 100), idle=st.booleans())
    def an_executor_dies(self, pick: int, idle: bool) -> None:
        number = self.pick_executor(pick, lambda executor: idle or executor.running)
        if number is not None:
            self.world.die(number)

    @rule(pick=st.integers(0, 100))
    def a_killed_executor_is_gone(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.killed)
        if number is not None:
            self.world.die(number, "killed")

    def result(self, outputs: int, inputs: list[ObjectId]) -> st.SearchStrategy[Any]:
        world = self.world
        data = st.binary(max_size=5)
        made: list[st.SearchStrategy[bytes | Made]] = [data]
        made.append(st.builds(Made, data, st.just("text"), st.just("{}")))
        made.append(st.builds(stored, st.just(world)))
        if inputs:
            made.append(st.sampled_from(inputs).map(lambda one: Made(PassedOn(one))))
        right: st.SearchStrategy[Outputs] = st.lists(
            st.one_of(made), min_size=outputs, max_size=outputs
        )
        return st.one_of(right, right, st.just(Failed("wrong")), st.just([b""] * (outputs + 1)))

    # The cache.

    @precondition(lambda self: self.world.look_ups)
    @rule(pick=st.integers(0, 100), has=st.booleans(), data=st.data())
    def the_cache_answers(self, pick: int, has: bool, data: st.DataObject) -> None:
        look_ups = list(self.world.look_ups)
        asked = look_ups[pick % len(look_ups)]
        if not has:
            self.world.miss(asked)
            return
        one = st.one_of(st.binary(max_size=5), st.builds(stored, st.just(self.world)))
        count = len(self.world.look_ups[asked].kind.outputs)
        self.world.hit(asked, data.draw(st.lists(one, min_size=count, max_size=count)))

    @precondition(lambda self: self.world.keeps)
    @rule(pick=st.integers(0, 100))
    def the_cache_has_kept_something(self, pick: int) -> None:
        keeps = list(self.world.keeps)
        self.world.kept(keeps[pick % len(keeps)])

    # The rest of the border.

    @precondition(lambda self: self.world.runs)
    @rule(pick=st.integers(0, 100), data=st.data())
    def a_run_ends(self, pick: int, data: st.DataObject) -> None:
        runs = list(self.world.runs)
        run = runs[pick % len(runs)]
        effect = self.world.runs[run]
        inputs = [one.id for one in effect.inputs]
        self.world.end_run(run, data.draw(self.result(len(effect.outputs), inputs)))

    @precondition(lambda self: self.world.fetches)
    @rule(pick=st.integers(0, 100), how=st.sampled_from(("bytes", "file", "not at all", "no room")))
    def a_fetch_ends(self, pick: int, how: str) -> None:
        fetches = list(self.world.fetches)
        fetch = fetches[pick % len(fetches)]
        if how in ("not at all", "no room"):
            self.world.fetch_failed(fetch, here=how == "no room")
        else:
            content = stored(self.world).content if how == "file" else b"data"
            assert not isinstance(content, PassedOn)
            self.world.fetched(fetch, content)

    @rule(dt=st.sampled_from((0.001, 0.03, 0.2, 3.0)))
    def time_passes(self, dt: float) -> None:
        self.world.tick(dt)

    @invariant()
    def the_server_and_the_governor_agree(self) -> None:
        live = {
            task for session in self.world.reactor.state.sessions.values() for task in session.tasks
        }
        assert live == set(self.world.assigned)

    @invariant()
    def every_file_belongs_to_an_object_or_lies_in_a_pipe(self) -> None:
        contents = {
            target.content
            for session in self.world.reactor.state.sessions.values()
            for target in session.objects.values()
            if isinstance(target.content, int)
        }
        unread = {
            output.content.file
            for executor in self.world.executors.values()
            if executor.unread is not None
            for result in executor.unread.results
            if isinstance(result, list)
            for output in result
            if isinstance(output, Made) and not isinstance(output.content, bytes | PassedOn)
        }
        assert contents <= self.world.files
        # Hypothesis may draw a result with a file and then use another one.
        assert not unread - self.world.files

    def teardown(self) -> None:
        """Whatever has happened: when all do their part, all tasks end and nothing is left."""
        if sys.exc_info()[0] is None:
            settle(self.world)
            check_nothing_is_left(self.world)


TestGovernorMachine = pytest.mark.no_cover(GovernorMachine.TestCase)
TestGovernorMachine.settings = settings(max_examples=examples(100), stateful_step_count=50)
