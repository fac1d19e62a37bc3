"""Blames governors for tasks that fail there and finish elsewhere: after some of them, a governor
rests.

A failure alone does not say whether the task or the machine is the cause. The next try runs on
another governor and shows it: if the task finishes there, the first governor is blamed. Each task
that a governor finishes itself makes up for one such task. A governor with `ENOUGH` more of them
rests: a machine without a library, or with a broken gpu, fails its tasks at once, is always free,
and so would get the first try of every task.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile

from rain.base.ids import GovernorId
from rain.base.runs import RunCause, RunState
from rain.graph import Governor, Run, Task
from rain.server.core import rests
from rain.server.core.state import State

ENOUGH = 3
"""A governor rests when this many more tasks have failed on it than it has finished meanwhile."""

UNIT = 10.0
"""The unit of rests in seconds: somebody has to repair the machine."""

_LINE = 200  # characters of a failure in messages
_BLAMED = (RunCause.TASK, RunCause.TIMEOUT, RunCause.EXECUTOR)


def finished(state: State, governor: Governor, tasks: Collection[Task]) -> None:
    """A governor has finished these: some have perhaps failed elsewhere before."""
    if state.back_off.blamed:
        state.back_off.make_up(governor, len(tasks))
    for task in tasks:
        if task.former:
            _look_back(state, governor, task)


def _look_back(state: State, there: Governor, task: Task) -> None:
    since = takewhile(lambda run: run.state is not RunState.FINISHED, reversed(task.former))
    failed = {
        run.place: run
        for run in since
        if run.state is RunState.FAILED and run.cause in _BLAMED and run.place != there.place
    }
    for place, run in failed.items():
        governor = state.graph.governors.get(GovernorId(place.incarnation))
        if governor is not None and not governor.rests:
            _blame(state, governor, run)


def _blame(state: State, governor: Governor, run: Run) -> None:
    if state.back_off.has_rested_since(governor, run.told):
        return
    blamed = state.back_off.blame(governor)
    others = any(not other.rests for other in state.graph.governors.values() if other != governor)
    if blamed >= ENOUGH and others:
        del state.back_off.blamed[governor]
        line = run.message.strip().rpartition("\n")[2][:_LINE]  # the end of a traceback
        rests.ask_for_unstarted(state, governor)
        why = f"tasks that fail there finish elsewhere; the last one: {line}"
        rests.begin(state, governor, UNIT, why)
