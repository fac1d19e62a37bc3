"""Step three of a turn: runs the scheduler, and replaces it for a while when it fails.

A scheduler may be foreign code. When it raises, breaks a rule of planning or takes too long, the
server reports that in its log, in the event log and in its status, and goes on: `rain` plans in its
place. The steps of its plan that were right stay.

A scheduler that has raised gets another chance in the next turn. One that took too long is
interrupted by the border, because nothing here knows the time, and the recording of a run has the
number of steps. It is thrown away, `rain` plans while it rests, and then a new one is made, which
gets all tasks without a plan. The same happens to one that has changed nodes itself; then the plans
of the graph are restored first.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import Factory, define

from rain.base.errors import InvariantError, PlanError, StartError
from rain.base.states import TaskRow
from rain.graph import Graph, Task, check
from rain.graph.repair import plan_anew
from rain.graph.rules import would_suit
from rain.scheduler.api import News, Plan, Scheduler, SchedulerInterrupted
from rain.scheduler.elsewhere import plan_elsewhere
from rain.scheduler.nested import NestedTasks
from rain.scheduler.rain import RainScheduler
from rain.scheduler.renewal import first_news, forget, without_plan
from rain.scheduler.user_shares import UserShares
from rain.server.core import distribution, finishing, happenings
from rain.server.core.back_off import Rest
from rain.server.core.messages import SchedulerFailed, TasksOverlooked
from rain.server.core.noted_plans import NotedPlan, Step, restored
from rain.server.core.state import State
from rain.server.core.tampering import TamperingWatch

QUIET = 60.0
"""Seconds for which the same failure is not logged again."""

LONGEST = 1000
"""Characters of a scheduler's exception in messages; its traceback has all of them."""

_NO_SENSE = (LookupError, TypeError, AttributeError)
"""The exceptions that reading a node may raise after a scheduler has changed it."""


_WRITE_IT = "call plan.assign(task, governor) for each task, and return nothing"

Ask = Callable[[Graph, News, Plan], None]
"""Asks a scheduler for its plan."""


class Guard(Protocol):
    """Lets the scheduler write its plan, and sets `plan.over` when that takes too long."""

    def __call__(self, ask: Ask, graph: Graph, news: News, plan: Plan) -> None: ...


def take_news(state: State) -> News:
    """Takes the news for the scheduler, so that it gets each item once."""
    news, state.news = state.news, News()
    if state.lessons:
        finishing.learn(state)
    return news


def is_ours(scheduler: Scheduler | None) -> bool:
    """Whether a scheduler comes with Rain, and is trusted to change nodes only by its plan."""
    return type(scheduler).__module__.startswith("rain.scheduler.")


def shares_for(scheduler: Scheduler) -> UserShares | None:
    """The object that gives users their shares; None if the scheduler does that itself."""
    return None if getattr(type(scheduler), "shares_users", False) is True else UserShares()


def unguarded(ask: Ask, graph: Graph, news: News, plan: Plan) -> None:
    """Lets the scheduler take as long as it wants."""
    ask(graph, news, plan)


def make_in_time(make: Callable[[], Scheduler], guard: Guard, name: str, limit: float) -> Scheduler:
    """Makes the first scheduler; it may take as long as a run. `StartError` if it takes longer."""
    made: list[Scheduler] = []
    plan = Plan(Graph())

    def ask(graph: Graph, news: News, plan: Plan) -> None:
        made.append(make())

    try:
        guard(ask, plan.graph, News(), plan)
    except SchedulerInterrupted:
        raise StartError(
            f"the scheduler {name!r} cannot be made: it was interrupted after {limit:g} seconds"
            " (--scheduler-limit)"
        ) from None
    return made[0]


@define(eq=False)
class Scheduling:
    """The scheduler, the one that can take its place, and what became of the tasks between."""

    make: Callable[[], Scheduler]
    guard: Guard
    rest: Rest
    scheduler: Scheduler | None  # None when a new one is to be made
    substitute: Scheduler | None = None  # while the scheduler rests
    nested: NestedTasks = Factory(NestedTasks)
    shares: UserShares | None = None  # None if the scheduler shares the cluster itself
    unheard: dict[Task, None] = Factory(dict)  # tasks that the scheduler may have lost sight of
    watch: TamperingWatch = Factory(TamperingWatch)  # of a scheduler that is not ours
    notes: list[list[Step]] | None = None  # the steps of all plans of a turn, if they are noted

    def run(self, state: State, interrupted_after: int | None) -> int | None:
        """Lets the scheduler plan, and passes its plan on.

        In a replay it is told after how many steps the scheduler was interrupted; it tells that
        whenever it has happened.
        """
        news = take_news(state)
        gone = news.gone
        if news.unplanned:
            self._plan_elsewhere(state, news)
        if state.nested.nests:
            self._plan_nested(state, news)
        interrupted = self._run(state, news, interrupted_after)
        state.graph.remains += gone  # everybody has heard of them
        return interrupted

    def _plan_elsewhere(self, state: State, news: News) -> None:
        plan = self._new_plan(state)
        plan_elsewhere(state.graph, news, plan)
        if plan.steps:
            _apply(state, plan)

    def _plan_nested(self, state: State, news: News) -> None:
        self.nested.take(news)
        if self.nested:
            plan = self._new_plan(state)
            self.nested.plan(state.graph, plan)
            _apply(state, plan)

    def _shared(self, state: State, news: News) -> News:
        """The part of the news that the scheduler gets while several users have work."""
        graph, shares = state.graph, self.shares
        if shares is None or not graph.has_users or not shares.are_due(graph, news):
            return news
        plan = self._new_plan(state)
        if shares.is_to_begin(graph):
            shares.begin(graph, news)
            self.scheduler = None  # it has plans for tasks that it shall not hear of yet
            if self.substitute is not None:
                self.substitute = RainScheduler()
            forget(graph)
            self.watch = TamperingWatch()
            news = News(news.submitted, joined=list(graph.governors.values()))
        shares.take(graph, news, plan)
        _apply(state, plan)
        return news

    def _run(self, state: State, news: News, interrupted_after: int | None) -> int | None:
        state.status.runs += 1
        state.throttle.run(state.now)
        if self.substitute is not None and state.now < self.rest.until:
            self._let_plan(self.substitute, state, self._shared(state, news))
            return None
        self.substitute = None
        if self.scheduler is None or self.unheard:
            news = self._own_news(state.graph, news)
        news = self._shared(state, news)
        plan = self._new_plan(state)
        plans, damage = self._watched(state, news, plan, interrupted_after)
        if damage:
            self._repair(state)
            if self.notes is not None:
                self.notes[-1][:] = restored(self.notes[-1], plan)
        _apply(state, plan)
        rest = self.rest
        if damage:
            self._replace(state, f"it has changed nodes itself, and not by its plan: {damage}")
        elif plan.over:
            self._replace(state, f"it was interrupted after {rest.limit:g} seconds")
        if plan.over:
            return plan.steps
        if not (plans or damage):
            self._plan_once(state)
        return None

    def _new_plan(self, state: State) -> Plan:
        if self.notes is None:
            return Plan(state.graph, state.estimates, state.now)
        plan = NotedPlan(state.graph, state.estimates, state.now)
        self.notes.append(plan.made)
        return plan

    def take_notes(self) -> list[list[Step]]:
        """Hands over the steps of the plans since the last time, in the order they were made."""
        notes, self.notes = self.notes or [], []
        return notes

    def _own_news(self, graph: Graph, news: News) -> News:
        """The news for the scheduler; one that is about to be made hears of what is there now."""
        if self.scheduler is None:
            return first_news(graph)
        news.unplanned.update(dict.fromkeys(without_plan(self.unheard)))
        self.unheard = {}
        return news

    def _watched(
        self, state: State, news: News, plan: Plan, interrupted_after: int | None
    ) -> tuple[bool, str]:
        """Whether the scheduler has planned, and what it has changed by itself."""
        if is_ours(self.scheduler):
            return self._plans(state, news, plan, interrupted_after), ""
        self.watch.before(state.graph, news)
        try:
            plans = self._plans(state, news, plan, interrupted_after)
        except InvariantError as error:  # a step has met what the scheduler has changed before
            return False, _readable(str(error).partition("\n")[0][:LONGEST])
        try:
            return plans, self.watch.after(state.graph, plan)
        except _NO_SENSE as error:
            return plans, _readable(f"nodes cannot be read any more: {error!r}"[:LONGEST])

    def _repair(self, state: State) -> None:
        """Only plans can be restored. Other damage would end the server later, without a name."""
        graph = state.graph
        try:
            plan_anew(graph)
            check(graph)
        except (InvariantError, *_NO_SENSE) as error:
            raise InvariantError(
                f"the scheduler {state.status.name!r} has changed nodes of the graph itself, and"
                f" not only their plans: {error}"
            ) from error
        state.touched.update(dict.fromkeys(graph.governors.values()))

    def _plans(self, state: State, news: News, plan: Plan, interrupted_after: int | None) -> bool:
        returned = ""

        def ask(graph: Graph, news: News, plan: Plan) -> None:
            nonlocal returned
            returned = self._ask(graph, news, plan)

        if interrupted_after is not None:
            plan.last = interrupted_after
        lost = [] if is_ours(self.scheduler) else [*news.unplanned]  # it may change the news
        try:
            if interrupted_after != 0:
                self.guard(ask, state.graph, news, plan)
        except (InvariantError, KeyboardInterrupt):  # ours, or the user's
            raise
        except BaseException as error:  # noqa: BLE001 # a stranger's code may raise anything
            if not plan.over:
                _complain_of(state, error)
                return False
        plan.over = plan.over or interrupted_after is not None
        if returned and not plan.over:
            _complain(state, f"it has planned nothing and returned {returned}: {_WRITE_IT}")
            return False
        overlooked = None if plan.over else _overlooked(state.graph, lost, plan)
        if overlooked is not None:
            state.emit(TasksOverlooked(state.status.name, overlooked.session.id))
        return not plan.over

    def _ask(self, graph: Graph, news: News, plan: Plan) -> str:
        """What the scheduler has returned instead of a plan; "" if it has planned."""
        if self.scheduler is None:
            self.scheduler = self.make()
        schedule: Callable[[Graph, News, Plan], object] = self.scheduler.schedule
        returned = schedule(graph, news, plan)
        if returned is None or returned is plan or plan.steps:
            return ""
        if news.submitted or news.unplanned:
            return f"a value of the type {type(returned).__name__!r}"
        return ""

    def _plan_once(self, state: State) -> None:
        """A fresh scheduler knows nothing of the past, so it is told of all that has no plan."""
        news = self._first_news(state.graph)
        # The scheduler must get the tasks again that nobody can plan now. Its own copy of the news
        # cannot be trusted for that: it may have changed it.
        self.unheard = dict.fromkeys(news.submitted)
        self._let_plan(RainScheduler(), state, news)

    def _replace(self, state: State, why: str) -> None:
        """The scheduler is thrown away: another one plans until it has rested."""
        graph, rest = state.graph, self.rest
        self.scheduler = None
        self.unheard = {}
        forget(graph)
        rest.begin(state.now)
        state.status.rests_until = rest.until
        self.watch = TamperingWatch()
        _complain(state, f"{why}; rain plans in its place for the next {rest.length:g} seconds")
        self.substitute = RainScheduler()
        self._let_plan(self.substitute, state, self._first_news(graph))

    def _first_news(self, graph: Graph) -> News:
        """The news for a new scheduler: everything that is there."""
        news = first_news(graph)
        if self.shares is not None and self.shares.is_on:
            self.shares.hide(news)
        return news

    def _let_plan(self, scheduler: Scheduler, state: State, news: News) -> None:
        """A scheduler of ours plans."""
        plan = self._new_plan(state)
        scheduler.schedule(state.graph, news, plan)
        _apply(state, plan)


def _apply(state: State, plan: Plan) -> None:
    throttle = state.throttle
    throttle.soon, throttle.again = throttle.soon or plan.soon, throttle.again or plan.again
    distribution.apply_plan(state, plan)


def _overlooked(graph: Graph, lost: Sequence[Task], plan: Plan) -> Task | None:
    """One of these tasks that have lost their plans, if the new plan is empty and nothing runs.
    Then there may be no more news for the scheduler.
    """
    if not lost or plan.steps or plan.soon or plan.again:
        return None
    governors = graph.governors.values()
    if any(governor.assigned or governor.queue for governor in governors):
        return None
    for task in lost:
        if task.row is TaskRow.READY and any(would_suit(task.kind, one) for one in governors):
            return task
    return None


def _complain_of(state: State, error: BaseException) -> None:
    place = _place(error)
    if isinstance(error, PlanError):
        _complain(state, f"its plan breaks the rule {error.rule!r}: {error}{place}")
    else:
        trace = _readable("".join(traceback.format_exception(error)))
        said = _readable("".join(traceback.format_exception_only(error)).strip())
        _complain(state, f"it raised {said[:LONGEST]}{place}", trace)


def _place(error: BaseException) -> str:
    """The line of the plugin, in the file of its method `schedule`; "" for a scheduler of ours."""
    strangers = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_globals.get("__name__", "").startswith("rain.")
    ]
    if not strangers:
        return ""
    file = strangers[0][0]
    line = [line for name, line in strangers if name == file][-1]
    return f" ({_readable(file)}, line {line})"


def _readable(text: str) -> str:
    """A stranger's text, so that every file and every reader can take it."""
    return text.encode("utf-8", "backslashreplace").decode()


def _complain(state: State, cause: str, trace: str = "") -> None:
    status = state.status
    status.faults += 1
    if cause == status.fault and state.now < status.complained + QUIET:
        return
    status.fault, status.complained = cause, state.now
    state.emit(SchedulerFailed(status.name, cause, trace))
    state.note(happenings.SchedulerFailed(state.now, status.name, cause), len(cause))
