"""Rests of governors: the server plans nothing on a governor with problems for a while (back-off).

Its running tasks go on, and its data can be read. Each rest is twice as long as the one before,
until the governor has worked for long (`resting`).
"""

from __future__ import annotations

from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.graph import Governor, Task, moving, planning
from rain.graph.run import Ending
from rain.server.core import happenings
from rain.server.core.messages import GovernorRests
from rain.server.core.state import State

_PLANNED = (TaskRow.PLANNED, TaskRow.QUEUED)
_SENT = (TaskRow.AHEAD, TaskRow.ASSIGNED, TaskRow.ASKED)


def begin(state: State, governor: Governor, unit: float, why: str) -> None:
    """A governor that does not rest yet begins to, and people are told why.

    The first rest takes two units (in seconds), the longest one `resting.LONGEST` + 1 units. What
    is planned there and was not sent is planned anew.
    """
    rest = state.back_off.begin(governor, unit, why, state.now)
    governor.rest()
    _take_back(state, governor, _PLANNED)
    state.news.joined.append(governor)  # with other resources than before
    state.note(happenings.GovernorRests(state.now, governor.address, why), len(why))
    state.emit(GovernorRests(governor.address, rest.until - state.now, why))


def take_back_all(state: State, governor: Governor) -> None:
    """All that is planned there is planned anew, but for what has started.

    The governor must start nothing any more, and have told of all that it has started.
    """
    _take_back(state, governor, _SENT)
    _take_back(state, governor, _PLANNED)


def take_back_some(state: State, tasks: list[Task]) -> None:
    """These tasks, which wait, are planned anew; governors are asked for what they were sent."""
    ending = Ending(state.now, RunCause.TAKEN_BACK)
    for task in tasks:
        if task.row in _PLANNED:
            planning.withdraw(task, ending)
            state.news.unplanned[task] = None
        else:
            state.ask_back(*planning.stopped(task))
            moving.ask_back(task)


def ask_for_unstarted(state: State, governor: Governor) -> None:
    """Asks a governor for the tasks that it has not begun: those that it gives back are replanned.

    Tasks that were sent ahead of these are then only planned there.
    """
    for task in list(governor.assigned):
        if task.row is TaskRow.ASSIGNED:
            state.ask_back(*planning.stopped(task))
            moving.ask_back(task)


def _take_back(state: State, governor: Governor, rows: tuple[TaskRow, ...]) -> None:
    ending = Ending(state.now, RunCause.TAKEN_BACK)
    for task in list(governor.scheduled):
        if task.row in rows:
            for stopped in planning.take_back(task, ending):
                state.stop(*stopped)
            state.news.unplanned[task] = None


def end_due(state: State) -> None:
    """Some governors have rested for long enough: they may try again."""
    for governor in state.back_off.take_rested(state.now):
        governor.go_on()
        state.news.joined.append(governor)
        state.touched[governor] = None
