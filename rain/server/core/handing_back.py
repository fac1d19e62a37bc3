"""Takes back tasks that a governor could not start, and lets the governor rest.

A governor that has no descriptor, process, memory or room on the disk for a task hands it back.
That is no fault of the task: it is planned anew, and no try is used up. But such a governor is
always free and would take the whole queue. So it rests: nothing is planned on it for a while, and
for twice as long if that was not long enough. Its running tasks go on, and its data can be read.
"""

from __future__ import annotations

from attrs import evolve

from rain.base.sizes import spell_size
from rain.base.states import TaskMove
from rain.base.wire.update import TaskFailure
from rain.graph import Governor, Task, planning
from rain.graph.needs import has_disk
from rain.graph.rules import would_suit
from rain.graph.run import Ending
from rain.server.core import failing, rests
from rain.server.core.state import State

UNIT = 1.0
"""The unit of rests in seconds: a shortage on a machine may be over soon."""


def handed_back(state: State, governor: Governor, task: Task, failure: TaskFailure) -> None:
    """A governor could not start the task, which goes elsewhere.

    A task that was handed back very often fails: it may be too large for every governor.
    """
    _hand_back(state, governor, task, failure, state.settings.hand_backs)


def out_of_reach(state: State, governor: Governor, task: Task, failure: TaskFailure) -> None:
    """A governor could not fetch an input of the task, which goes elsewhere.

    After a few times the task fails: a firewall may be the reason, and that is permanent.
    """
    _hand_back(state, governor, task, failure, state.settings.out_of_reach)


def unreadable(state: State, governor: Governor, task: Task, failure: TaskFailure) -> bool:
    """A task could not read its part of a shuffle, which is nothing that a rest would mend.

    Returns whether it was handed back; after a few times it fails.
    """
    return _withdrawn(state, governor, task, failure, state.settings.unreadable)


def too_large(state: State, governor: Governor, task: Task, failure: TaskFailure) -> None:
    """What a task makes or reads is larger than all that its governor may have on its disk.

    The task goes to a governor with a larger disk (`rain.scheduler.elsewhere`), and without one it
    fails at once. A governor that has not told the size of its disk may be large enough.
    """
    suiting = [one for one in state.graph.governors.values() if would_suit(task.kind, one)]
    if any(one is not governor and has_disk(one, failure.disk) for one in suiting):
        _withdrawn(state, governor, task, failure, state.settings.hand_backs)
        return
    message = failure.message
    if len(suiting) > 1:
        most = max(one.disk for one in suiting)
        message += f"; no other governor that it may run on may have more than {spell_size(most)}"
    failing.run_failed(state, governor, task, evolve(failure, message=message, retryable=False))


def _hand_back(
    state: State, governor: Governor, task: Task, failure: TaskFailure, limit: int
) -> None:
    if _withdrawn(state, governor, task, failure, limit) and not governor.rests:
        rests.begin(state, governor, UNIT, failure.message)  # else it was sent this before


def _withdrawn(
    state: State, governor: Governor, task: Task, failure: TaskFailure, limit: int
) -> bool:
    """Takes the task from the governor, or fails it if this has happened too often."""
    why = failure.message
    times = state.not_started[task] = state.not_started.get(task, 0) + 1
    if times >= limit:
        del state.not_started[task]
        message = f"no governor could start the task, in {times} tries; the last one: {why}"
        failing.run_failed(state, governor, task, evolve(failure, message=message))
        return False
    _withdraw(state, task, Ending(state.now, failure.cause, why, failure.debug))
    state.forget_outputs(governor, task)
    state.touched[governor] = None
    return True


def _withdraw(state: State, task: Task, ending: Ending) -> None:
    for stopped in planning.recall_followers(task, state.now):
        state.stop(*stopped)
    planning.withdraw(task, ending, TaskMove.HAND_BACK)
    state.news.unplanned[task] = None
