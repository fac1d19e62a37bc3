"""Step three of a turn: the scheduler, and somebody in its place when it fails.

A scheduler may be a stranger's code. When it raises, breaks a rule of planning or takes too long,
the server says so, in its log, in the event log and in its status, and lives: `rain` plans
that turn, and the plugin gets another chance in the next one. The steps of its plan that were right
stay.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable

from attrs import Factory, define

from rain.base.errors import InvariantError, PlanError
from rain.graph import Graph, Task
from rain.scheduler.api import News, Plan, Scheduler
from rain.server import distribution, happenings
from rain.server.messages import SchedulerFailed
from rain.server.state import State

QUIET = 60.0
"""Seconds for which the same complaint is not told again."""


@define(eq=False)
class Scheduling:
    """The scheduler, the one that can take its place, and what became of the tasks between."""

    scheduler: Scheduler
    instead: Callable[[], Scheduler]  # the plainest
    too_long: bool = False  # the last run was: another plans the next one
    unheard: dict[Task, None] = Factory(dict)  # tasks that the scheduler may have lost sight of

    def run(self, state: State) -> None:
        """Lets the scheduler plan, and passes its plan on."""
        news, state.news = state.news, News()
        if self.unheard:
            news.unplanned.update(dict.fromkeys(_unplanned(state.graph, self.unheard)))
            self.unheard = {}
        plan = Plan(state.graph, state.estimates, state.now)
        if self.too_long or not self._plans(state, news, plan):
            self._plan_instead(state.graph, news, plan)
        state.status.runs += 1
        state.throttle.run(state.now, soon=plan.soon, again=plan.again)
        distribution.apply_plan(state, plan)

    def took(self, state: State, seconds: float) -> None:
        """How long the last run was, as measured at the border."""
        limit = state.settings.scheduler_limit
        self.too_long = seconds > limit
        state.status.seconds += seconds
        if self.too_long:
            _complain(state, f"it took {seconds:.1f} seconds, and {limit:g} are allowed")

    def _plans(self, state: State, news: News, plan: Plan) -> bool:
        try:
            self.scheduler.schedule(state.graph, news, plan)
        except InvariantError:  # ours, whoever called
            raise
        except PlanError as error:
            _complain(state, f"its plan breaks the rule {error.rule!r}: {error}")
        except Exception as error:  # noqa: BLE001 # a stranger's code may raise anything
            trace = "".join(traceback.format_exception(error))
            _complain(state, f"it raised {type(error).__name__}: {error}", trace)
        else:
            return True
        return False

    def _plan_instead(self, graph: Graph, news: News, plan: Plan) -> None:
        """A fresh scheduler knows nothing of the past, so it is told of all that has no plan."""
        tasks = _unplanned(graph, graph.tasks.values())
        told = News(submitted=tasks, joined=list(graph.governors.values()))
        self.instead().schedule(graph, told, plan)
        # What nobody could plan the scheduler must hear of once more, and all the rest of the news.
        self.unheard = dict.fromkeys([*news.submitted, *news.unplanned, *tasks])
        self.too_long = False


def _unplanned(graph: Graph, tasks: Iterable[Task]) -> list[Task]:
    """Those that have no plan and need one, inputs before consumers."""
    found = [
        task
        for task in tasks
        if task.scheduled is None and not task.is_done and graph.tasks.get(task.id) is task
    ]
    return sorted(found, key=lambda task: task.order)


def _complain(state: State, cause: str, trace: str = "") -> None:
    status = state.status
    status.faults += 1
    if cause == status.fault and state.now < status.complained + QUIET:
        return
    status.fault, status.complained = cause, state.now
    state.emit(SchedulerFailed(status.name, cause, trace))
    state.note(happenings.SchedulerFailed(state.now, status.name, cause), len(cause))
