"""Tasks that a governor could not start, and the rest that it gets.

To have no descriptor, process, memory or room on the disk left for a task is the governor's trouble
and not the fault of the task: the task is planned anew, and no try is used up. But such a
governor is always free, so that it would eat the whole queue. So it rests: nothing is planned on it
for a while, and for twice as long when that was not long enough. What it runs goes on, and what it
holds can be read.
"""

from __future__ import annotations

from attrs import evolve

from rain.base.runs import RunCause
from rain.base.states import TaskMove
from rain.base.wire import TaskFailure
from rain.graph import Governor, Task, planning
from rain.graph.run import Ending
from rain.server import failing, happenings
from rain.server.messages import GovernorRests
from rain.server.resting import Rest
from rain.server.state import State

FIRST_REST = 1.0
"""Seconds; the longest rest is `resting.LONGEST` times as long."""


def handed_back(state: State, governor: Governor, task: Task, failure: TaskFailure) -> None:
    """A governor could not start the task, which goes elsewhere.

    What was handed back very often fails after all: it may be too large for every governor.
    """
    why, limit = failure.message, state.settings.hand_backs
    times = state.not_started[task] = state.not_started.get(task, 0) + 1
    if times >= limit:
        del state.not_started[task]
        message = f"no governor could start the task, in {times} tries; the last one: {why}"
        failing.run_failed(state, governor, task, evolve(failure, message=message))
        return
    _withdraw(state, task, Ending(state.now, failure.cause, why, failure.debug), TaskMove.HAND_BACK)
    state.forget_outputs(governor, task)
    state.touched[governor] = None
    if governor.rests:
        return  # it was sent this before
    rest = state.rests.get(governor)
    if rest is None:
        rest = state.rests[governor] = Rest(FIRST_REST)
    rest.begin(state.now)
    rest.why = why
    governor.rest()
    for other in list(governor.scheduled):
        if other.assigned is None:
            _withdraw(state, other, Ending(state.now, RunCause.TAKEN_BACK), TaskMove.TAKE_BACK)
    state.resting[governor] = rest.until
    state.news.joined.append(governor)  # with other resources than before
    state.note(happenings.GovernorRests(state.now, governor.address, why), len(why))
    state.emit(GovernorRests(governor.address, rest.until - state.now, why))


def _withdraw(state: State, task: Task, ending: Ending, move: TaskMove) -> None:
    if task.assigned is not None:
        for stopped in planning.recall_followers(task, state.now):
            state.stop(*stopped)
    planning.withdraw(task, ending, move)
    state.news.unplanned[task] = None


def end_rests(state: State) -> None:
    """Some governors have rested for long enough: they may try again."""
    for governor in [found for found, until in state.resting.items() if until <= state.now]:
        del state.resting[governor]
        governor.go_on()
        state.news.joined.append(governor)
        state.touched[governor] = None
