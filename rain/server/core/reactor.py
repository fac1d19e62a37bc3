"""The server's reactor. One turn handles updates of governors, requests of clients, the scheduler,
and the orders.

It is a state machine without I/O: events go in, effects come out, and time is an argument. The
decisions of a turn depend only on the state, on its `TurnInput` and on the scheduler. So a recorded
run can be replayed, by the same scheduler (`turn`) or without any, by the plans that were noted
(`turn_again`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from attrs import Factory, define, field

from rain.base.errors import InvariantError
from rain.graph import Governor, check
from rain.scheduler.api import Scheduler
from rain.server.core import (
    circles,
    client_events,
    closing,
    distribution,
    failing,
    feasibility,
    finishing,
    governor_events,
    handles,
    nesting,
    quotas,
    rests,
    speculation,
    test_mode,
    time_limits,
    unfetched,
    usage,
)
from rain.server.core.back_off import Rest
from rain.server.core.messages import Effect, GovernorUpdated, Silent, TurnInput
from rain.server.core.noted_plans import Plans, make_again
from rain.server.core.scheduling import (
    Guard,
    Scheduling,
    make_in_time,
    shares_for,
    take_news,
    unguarded,
)
from rain.server.core.state import State


@define(eq=False)
class TurnOutput:
    """The results of a turn."""

    effects: list[Effect]
    scheduled: bool  # whether the scheduler ran; the border reports how long it took
    interrupted_after: int | None  # how many steps the scheduler had made, if it was interrupted
    silent: Sequence[Silent]  # governors that were dismissed
    plans: Plans | None  # the steps of all plans, if there are any and the reactor notes them


@define(eq=False)
class Reactor:
    """The state and the scheduler that plans in it."""

    make: Callable[[], Scheduler]
    state: State = Factory(State)
    guard: Guard = unguarded
    notes_plans: bool = False  # for `turn_again`
    scheduling: Scheduling = field(init=False)

    def __attrs_post_init__(self) -> None:
        limit = self.state.settings.scheduler_limit
        first = make_in_time(self.make, self.guard, self.state.status.name, limit)
        self.scheduling = Scheduling(self.make, self.guard, Rest(limit), first)
        self.scheduling.shares = shares_for(first)
        if self.notes_plans:
            self.scheduling.notes = []

    def turn(self, given: TurnInput) -> TurnOutput:
        """Makes a turn: applies events, and returns the effects."""
        state, now = self.state, given.now
        if given.scheduling_took:
            state.status.seconds += given.scheduling_took
            if self.scheduling.substitute is None:  # else another one plans, and soon
                state.throttle.ran(given.scheduling_took)
        silent = self._take_in(given, None)
        scheduled = now >= self._scheduler_due()
        interrupted, plans = None, None
        if scheduled:
            interrupted = self.scheduling.run(state, given.interrupted_after)
            if self.notes_plans:
                plans = self.scheduling.take_notes()
        return TurnOutput(self._give_out(), scheduled, interrupted, silent, plans)

    def turn_again(
        self,
        given: TurnInput,
        silent: Sequence[Silent],
        plans: Plans | None,
    ) -> TurnOutput:
        """Makes a turn that was made before, as its output said: these were found silent, and the
        scheduler and others made these plans. None says that the scheduler was not asked."""
        self._take_in(given, silent)
        if plans is not None:
            news = take_news(self.state)
            make_again(self.state, plans)
            self.state.graph.remains += news.gone
        return TurnOutput(self._give_out(), plans is not None, None, silent, plans)

    def _take_in(self, given: TurnInput, known_silent: Sequence[Silent] | None) -> list[Silent]:
        """Steps one and two. Returns the governors that are dismissed because they are silent,
        unless these are known already."""
        state = self.state
        state.now = now = given.now
        self._let_go()
        if now >= state.usage.stored_since + usage.EVERY and _may_store(given):
            state.usage.note_stored(state.graph, now)
        if state.graph.ending:
            self._look_at_limits()
        for governor_event in given.from_governors:
            governor_events.apply(state, governor_event)
        if state.growing:
            client_events.read_on(state)
        for client_event in given.from_clients:
            client_events.apply(state, client_event)
        if now >= state.asked.due:
            client_events.give_up_late(state)
        silent: list[Silent] = []
        if known_silent is not None:
            self._give_up(known_silent)
        elif now >= state.silence_due:
            silent = self._dismiss_silent()
        if state.nested:
            nesting.end_what_is_over(state)
        rare = state.infeasible or state.forced or state.fetches.postponed
        if rare or state.back_off.until or state.drains or state.graph.pauses:
            self._look_at_what_is_rare()
        if now >= state.circles_due:
            circles.look(state)
        self._take_leave()
        self._judge_tasks()
        return silent

    def _give_out(self) -> list[Effect]:
        """Step four, and all that the turn wants done."""
        state = self.state
        if state.touched or state.to_place or state.unsourced:
            distribution.distribute(state)
        if state.graph.suspects:
            circles.plan_look(state)
        effects = state.take_effects()
        if state.settings.debug:
            check(state.graph)
            shares = self.scheduling.shares
            found = [
                state.durable.contradictions(state.graph),
                state.metering.contradictions(state.graph),
            ]
            found += [] if shares is None else [shares.contradictions(state.news)]
            for contradiction in chain(state.asked.contradictions(), *found):
                raise InvariantError(contradiction)
        return effects

    def _let_go(self) -> None:
        """Continues a large release that an earlier turn has begun."""
        graph = self.state.graph
        if graph.unneeded or graph.remains:
            self.state.let_go()
        if graph.departed:
            handles.drop_departed(self.state)

    def _look_at_limits(self) -> None:
        """Some governors must be gone at some time."""
        state = self.state
        if state.lessons:  # it depends on how long tasks take, and must not on when that is learned
            finishing.learn(state)
        time_limits.take_back(state)

    def _take_leave(self) -> None:
        state = self.state
        if state.graph.unwanted:
            closing.cancel_unneeded(state)
        if state.graph.leaving:
            state.take_leave()
        if state.left:
            closing.end_left(state)

    def _judge_tasks(self) -> None:
        """Some are late; some have to wait for others of the same user."""
        state = self.state
        if state.graph.shadows or state.standing_by or state.now >= state.graph.late_due:
            speculation.look_at_late_tasks(state)
        if state.metering.is_on:
            quotas.apply(state)

    def _look_at_what_is_rare(self) -> None:
        """Tasks that no governor fits, ends of rests and pauses, copies that are offered again, and
        what a test wants."""
        if self.state.infeasible:
            feasibility.give_up(self.state)
        if self.state.drains:
            governor_events.let_drained_leave(self.state)
        if self.state.back_off.until:
            rests.end_due(self.state)
        if self.state.graph.pauses:
            failing.end_pauses(self.state)
        if self.state.fetches.postponed:
            unfetched.offer_again(self.state)
        if self.state.forced:
            test_mode.force(self.state)

    def settle(self) -> None:
        """Does work that is not urgent, after the effects of a turn were sent.

        Turns do not depend on it: without it the scheduler's run only has more to do.
        """
        if self.state.lessons:
            finishing.learn(self.state)

    def next_time(self) -> float:
        """When the next turn should come if nothing happens before."""
        state = self.state
        graph = state.graph
        left = graph.unneeded or graph.leaving or graph.remains or graph.departed
        if state.growing or left:
            return state.now  # at once, with whatever has come meanwhile
        due = min(self._scheduler_due(), state.later.due, state.asked.due, state.circles_due)
        due = min(due, graph.late_due)
        if state.silence_due < due and state.graph.governors:
            due = state.silence_due
        if graph.ending:
            due = min(due, time_limits.next_look(state))
        due = min(due, state.fetches.due, state.back_off.due)
        if graph.pauses:
            due = min(due, graph.pauses[0][0])
        return min(due, state.infeasible.due(state.now))

    def _dismiss_silent(self) -> list[Silent]:
        """Looks at all governors, since one of them can have been silent for long enough."""
        state = self.state
        limit = state.settings.governor_silence
        governors = state.graph.governors.values()
        silent = [
            Silent(governor.id, _why_silent(governor, limit))
            for governor in governors
            if state.now - governor.heard > _patience(governor, limit)
        ]
        self._give_up(silent)
        due = [governor.heard + _patience(governor, limit) for governor in governors]
        state.silence_due = min(due, default=state.now + limit)
        return silent

    def _give_up(self, silent: Sequence[Silent]) -> None:
        governors = self.state.graph.governors
        if silent:
            self.state.usage.note_stored(self.state.graph, self.state.now)
        for found in silent:
            governor_events.give_up(self.state, governors[found.governor], found.reason)

    def _scheduler_due(self) -> float:
        news, throttle = self.state.news, self.state.throttle
        submits = bool(news.submitted or news.unplanned)
        return throttle.due_at(submits=submits, updates=not submits and news.has_updates)


def _may_store(given: TurnInput) -> bool:
    """Whether data may come or go in this turn.

    A turn with nothing but heartbeats may be missing in the journal, so nothing may depend on its
    time.
    """
    return bool(given.from_clients) or any(
        not isinstance(event, GovernorUpdated) or event.update.finished.ids
        for event in given.from_governors
    )


def _patience(governor: Governor, limit: float) -> float:
    """How long a governor may be silent."""
    return limit if governor.away is None else governor.away.seconds


def _why_silent(governor: Governor, limit: float) -> str:
    away = governor.away
    if away is None:
        return f"nothing was received from it for more than {limit:g} seconds"
    return f"it has not come back within {away.seconds:g} seconds: {away.why}"
