"""Second runs: a task that is late is run once more elsewhere, and the first run that ends wins.

Only tasks whose kinds allow it (`idempotent`) get one. `rain.graph.lateness` says which tasks are
late. The late task gets a shadow (`rain.graph.shadows`) on a governor with idle cpus
(`rain.scheduler.spare`). Then one of these happens:

* The shadow finishes first. The run of the late task is withdrawn as *outrun*, which uses up no
  try, and the task passes on the results of its shadow.
* The late task ends first, in whatever way. Its shadow is dissolved.
* The shadow fails, is handed back, or loses its governor. It is dissolved, without blame.
* The late task fails for good (`failing`). It stands by: if its shadow finishes, it has finished.
  If not, it has failed with its own failure. So two failures are one.

All of this depends only on the events and the time of the turn, so a replay of the turns gives the
same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from rain.base.runs import RunCause, RunState
from rain.base.states import TaskMove, TaskRow
from rain.base.wire.update import TaskFailure
from rain.graph import Governor, Run, Task, claims, lateness, planning, shadows
from rain.graph.handles import NOBODY
from rain.graph.run import Ending, remembered
from rain.graph.standing_in import stand_in, stands_in
from rain.scheduler.api import MOST
from rain.scheduler.spare import spare_place
from rain.server.core import adopting, failing, handing_back, logs, rests, waiting
from rain.server.core.happenings import SecondRun, SecondRunState
from rain.server.core.state import State
from rain.server.core.tries import is_suspect

LOOK_AGAIN = 0.25
"""Seconds after which idle cpus are looked for again, if there were none for a late task."""


def look_at_late_tasks(state: State) -> None:
    """Ends shadows that are not needed, and gives shadows to late tasks."""
    graph = state.graph
    for late, shadow in list(graph.shadows.items()):
        if late.is_done or stands_in(late):  # its function has ended, and others go on
            _dissolve(state, late, SecondRunState.STOPPED)
        elif _is_over(shadow):
            _dissolve(state, late, SecondRunState.LOST)
            lateness.look_soon(graph)
    for late in [late for late in state.standing_by if late not in graph.shadows]:
        failure = state.standing_by.pop(late)
        if late.is_known and not late.is_done:
            failing.give_up(state, late, failure)
    if state.now >= graph.late_due:
        _begin_second_runs(state)


def have_finished(state: State, finished: Iterable[Task]) -> list[Task]:
    """Shadows have finished, and what they have made is there. Returns the late tasks that have
    finished with it; others have to pass it on."""
    done: list[Task] = []
    for shadow in finished:
        late = state.graph.shadowed[shadow]
        if late.is_done or stands_in(late):
            continue  # it was faster
        if _take_over(state, late, shadow):
            done.append(late)
    if done:
        state.release_soon(claims.finished_reading(done))
        state.graph.leaving += [
            late for late in done if not late.outputs and late.handles is NOBODY
        ]
    return done


def has_failed(state: State, governor: Governor, shadow: Task, failure: TaskFailure) -> None:
    """The run of a shadow has ended, and not well. Its task still runs."""
    late, short = state.graph.shadowed[shadow], failure.cause is RunCause.NOT_STARTED
    how = TaskMove.HAND_BACK if short else TaskMove.RUN_FAILED
    planning.withdraw(shadow, Ending(state.now, failure.cause, failure.message), how)
    state.forget_outputs(governor, shadow)
    state.touched[governor] = None
    if not short:
        lateness.not_again(late)
    elif not governor.rests:
        rests.begin(state, governor, handing_back.UNIT, failure.message)
    ended = SecondRunState.LOST if short else SecondRunState.FAILED
    _dissolve(state, late, ended, failure.message)
    lateness.look_soon(state.graph)


def _begin_second_runs(state: State) -> None:
    """Plans shadows of late tasks where there is room for them."""
    graph = state.graph
    for late in lateness.take_late(graph, state.now, state.settings.lateness):
        suspect = is_suspect(late, state.settings.crash_limit)
        if suspect or not shadows.can_have_one(late) or not state.metering.has_room(graph, late):
            lateness.not_again(late)
            continue
        governor = spare_place(graph, late)
        if governor is None:
            # A lone governor is not looked at again: a governor that joins changes that.
            pause = LOOK_AGAIN if len(graph.governors) > 1 else inf
            graph.late_due = min(graph.late_due, state.now + pause)
            continue
        planning.plan(shadows.add(graph, late), governor, MOST)
        state.touched[governor] = None
        _note(state, late, SecondRunState.BEGUN, governor.address)


def _is_over(shadow: Task) -> bool:
    """Whether nobody works on it any more, or will by the plan that it was made with."""
    return shadow.is_done or (shadow.scheduled is None and not stands_in(shadow))


def _take_over(state: State, late: Task, shadow: Task) -> bool:
    """The late task has the results of its shadow. Whether it has finished with that at once."""
    graph, run = state.graph, shadow.last_run()
    had_started = late.run is not None and late.run.state is RunState.RUNNING
    if late.scheduled is not None:
        for stopped in planning.take_back(late, Ending(state.now, RunCause.OUTRUN)):
            state.stop(*stopped)
    elif late.row is TaskRow.PAUSED:
        late.move(TaskMove.END_PAUSE)
    state.news.unplanned.pop(late, None)
    state.standing_by.pop(late, None)
    _add_run(late, run)
    late.user = shadow.user
    logs.hand_over(shadow, late)
    lateness.learn(late, run.duration)
    state.release_soon(stand_in(graph, late, shadow.outputs))
    state.release_soon(shadows.part(graph, late))
    _note(state, late, SecondRunState.FINISHED, run.governor)
    ready = adopting.finish(state, late, late.last_run(), sudden=not had_started)
    if ready is None:
        state.news.unplanned[late] = None
        state.nested.nests = True  # those that stand in are planned as tasks of tasks are
        return False
    state.news.finished.append(late)
    state.news.ready += ready
    for reader in ready:
        if reader.scheduled is not None:
            state.touched[reader.scheduled] = None
    return True


def _add_run(late: Task, run: Run) -> None:
    """The run of the shadow counts as one more of the task, which has finished."""
    last = late.last_run()
    late.former = remembered((*late.former, last))
    late.run = Run(
        last.number + 1,
        run.place,
        run.told,
        RunState.FINISHED,
        run.started,
        run.duration,
        debug=run.debug,
        peak=run.peak,
    )


def _dissolve(state: State, late: Task, how: SecondRunState, why: str = "") -> None:
    graph = state.graph
    shadow = graph.shadows[late]
    address = "" if shadow.run is None else shadow.run.governor
    dissolved = shadows.dissolve(graph, late, state.now)
    for stopped in dissolved.stopped:
        state.stop(*stopped)
    state.release_soon(dissolved.free)
    state.news.unplanned.pop(shadow, None)
    state.have_gone(dissolved.gone)
    session = shadow.session
    if dissolved.gone and not session.unfinished:
        waiting.idle(state, session)
    _note(state, late, how, address, why)


def _note(state: State, late: Task, how: SecondRunState, address: str, why: str = "") -> None:
    state.note(SecondRun(state.now, late.id, address, how, why), len(why))
