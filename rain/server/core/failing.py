"""Failed runs: the task is tried again, or has failed for good, with the consequences.

In a session that stops after failures, the session fails. In one that goes on, everything that
depends on the task fails with it, and waiting clients get the cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from attrs import evolve

from rain.base.failures import SessionFailure, end_of
from rain.base.ids import is_of_server
from rain.base.runs import RunCause
from rain.base.sizes import spell_size
from rain.base.states import TaskMove, TaskRow
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.update import TaskFailure
from rain.graph import (
    DataObject,
    Governor,
    Run,
    Task,
    failing,
    lateness,
    needs,
    pausing,
    planning,
)
from rain.graph.cancelling import unstarted, unwanted
from rain.graph.handles import NOBODY
from rain.graph.loss import Losses
from rain.graph.run import Ending, LastWords
from rain.graph.standing_in import followers
from rain.server.core import following, tries, waiting
from rain.server.core.sessions import fail_session
from rain.server.core.state import State

CANCELLED = "it was cancelled"
INTERRUPTED = "it was cancelled: the call that waited for it was interrupted"


def run_failed(
    state: State, governor: Governor, task: Task, failure: TaskFailure, printed: str = ""
) -> None:
    """The open run of a task has failed, and its governor goes on. The text is what the task has
    printed.
    """
    state.touched[governor] = None
    for stopped in planning.recall_followers(task, state.now):
        state.stop(*stopped)
    ending = Ending(
        state.now,
        failure.cause,
        failure.message,
        failure.debug,
        LastWords(failure.status, end_of(printed), failure.retryable, failure.peak),
    )
    planning.withdraw(task, ending, TaskMove.RUN_FAILED)
    run = task.last_run()
    if _is_too_large(state, task):
        most = spell_size(needs.most_memory(state.graph.governors.values()))
        run.message += f"; no governor has more than {most} of memory"
    again, shadowed = _has_another_try(state, task), _may_stand_by(state, task)
    if state.happenings is not None:
        state.happenings.run_failed(state.now, task, run, again=again or shadowed)
    if again or shadowed or task.goes_on:
        state.forget_outputs(governor, task)
    if again:
        run.shorten()
        state.news.ended.append(task)
        _plan_again(state, task)
        return
    verdict = evolve(_verdict(task, run, run.message), exception=failure.exception)
    if shadowed:
        _stand_by(state, task, verdict)
    else:
        give_up(state, task, verdict)


def _plan_again(state: State, task: Task) -> None:
    """The next try comes at once, or after a pause if the inputs of the task are still there."""
    seconds = tries.pause_after(task.kind.attempts, task.runs)
    if seconds and task.row is TaskRow.READY:
        pausing.pause(state.graph, task, state.now + seconds)
    else:
        state.news.unplanned[task] = None


def end_pauses(state: State) -> None:
    """Some tasks have paused for long enough, and may be tried again."""
    state.news.unplanned.update(dict.fromkeys(pausing.end_pauses(state.graph, state.now)))


def run_lost(state: State, task: Task) -> None:
    """The open run of a task was lost with its governor; the task is without a plan again."""
    run = task.last_run()
    again, shadowed = _has_another_try(state, task), _may_stand_by(state, task)
    if state.happenings is not None and (run.started or not again):
        state.happenings.run_failed(state.now, task, run, again=again or shadowed)
    if again:
        run.shorten()
        return
    crashes = tries.crashes(task.runs)
    ended = "governors when they were lost"
    if any(crash.cause is not RunCause.GOVERNOR for crash in crashes):
        ended = "executors and governors when they ended"
    why = (
        f"the task was running on {len(crashes)} {ended}, so it is probably the reason; the"
        f" last one was {run.governor}: {run.message}"
    )
    verdict = _verdict(task, run, why)
    if shadowed:
        _stand_by(state, task, verdict)
    else:
        give_up(state, task, verdict)


def _may_stand_by(state: State, task: Task) -> bool:
    """Whether a second run of it is at work, which may finish yet."""
    return task in state.graph.shadows and task.row is TaskRow.READY


def _stand_by(state: State, task: Task, failure: SessionFailure) -> None:
    """The task has failed for good, unless its second run finishes (see `speculation`)."""
    state.standing_by[task] = failure
    state.news.unplanned.pop(task, None)
    pausing.pause(state.graph, task, inf)


def give_up(state: State, task: Task, failure: SessionFailure) -> None:
    """A task will not run (again)."""
    session = task.session
    if not task.goes_on:
        fail_session(state, session, failure)
        return
    if not task.fails_alone:  # else the one who computes it waits for it
        session.untold = session.untold or failure
    pass_on(state, failing.fail([task], failure, state.now))


def lost(state: State, losses: Losses) -> None:
    """The consequences of the loss of a copy or of a governor."""
    for governor, task, run in losses.stopped:
        if governor.id in state.graph.governors:
            state.stop(governor, task, run)
    state.news.unplanned.update(losses.unplanned)
    state.graph.leaving += [task for task in losses.cancelled if task.handles is NOBODY]
    for data_object, governor in losses.dropped:
        state.drop(data_object, governor)
    for data_object, failure in losses.unmakeable.items():
        # In sessions that go on: it will not be made again.
        session = data_object.session
        session.untold = session.untold or failure
        pass_on(state, failing.spoil(data_object, failure, state.now))


def skip_hopeless(state: State, tasks: Iterable[Task]) -> None:
    """Fails new tasks that read something which had failed before they were submitted."""
    for task in tasks:
        for data_object in task.inputs:
            if data_object.has_failed and not task.is_done:
                failure = failing.failure_of(data_object)
                if not task.fails_alone:
                    task.session.untold = task.session.untold or failure
                pass_on(state, failing.fail([task], failure, state.now))


def cancel(state: State, targets: Iterable[Task], why: str, grace: float = OWN_GRACE) -> list[Task]:
    """Cancels tasks, and all tasks that nothing else needs.

    Returns all that were cancelled. Those that run have these seconds to clean up.
    """
    return _cancel(state, unwanted(targets), why, grace)


def cancel_unstarted(state: State, targets: Iterable[Task], why: str) -> None:
    """Cancels tasks that have not started, and all that nothing else needs; running tasks go on."""
    _cancel(state, unstarted(unwanted(targets)), why)


def _cancel(state: State, tasks: list[Task], why: str, grace: float = OWN_GRACE) -> list[Task]:
    if not tasks:
        return []
    failure = SessionFailure(why, task=tasks[0].id, cancelled=True)
    fallout = failing.fail(tasks, failure, state.now)
    pass_on(state, fallout, grace)
    return fallout.tasks


def end_cancelled(state: State, governor: Governor, task: Task) -> None:
    """Work on a cancelled task has ended, and its governor has its cpus again."""
    planning.withdraw(task, Ending(state.now, RunCause.CANCELLED), TaskMove.END)
    state.touched[governor] = None
    if task.handles is NOBODY:
        state.graph.leaving.append(task)


def _has_another_try(state: State, task: Task) -> bool:
    return not _is_too_large(state, task) and tries.may_try_again(
        task.kind.attempts, task.runs, state.settings.crash_limit
    )


def _is_too_large(state: State, task: Task) -> bool:
    """Whether the last run of the task was ended after taking all the memory of a governor, and no
    other governor has more.
    """
    run = task.last_run()
    if run.cause is not RunCause.MEMORY:
        return False
    governors = state.graph.governors.values()
    return not any(needs.has_more(governor, run.words.peak) for governor in governors)


def _verdict(task: Task, last: Run, message: str) -> SessionFailure:
    """Why a task failed. Clients do not know a task that the server has added: the text names the
    task that it belongs to.
    """
    for_whom = followers(task) if is_of_server(task.id) else []
    return SessionFailure(
        message,
        last.debug,
        for_whom[0].id if for_whom else task.id,
        tuple(run.report() for run in task.runs),
    )


def pass_on(state: State, fallout: failing.Fallout, grace: float = OWN_GRACE) -> None:
    """Handles failures in a session that goes on: stops, drops, and answers to waits."""
    failure = fallout.failure
    for stopped in fallout.stopped:
        state.stop(*stopped)
    for cancelled in fallout.cancelled:
        state.cancel(*cancelled, grace)
    gone = set(fallout.objects)
    state.fetches.forget(lambda data_object, _: data_object in gone)
    state.release_soon(fallout.free)
    for task in fallout.tasks:
        _will_not_run(state, task, failure)
    if state.happenings is not None:
        skipped = fallout.tasks
        if not failure.cancelled:  # else nothing was said of any of them
            skipped = [task for task in skipped if task.id != failure.task or task.run is None]
        state.happenings.skipped(state.now, failure, skipped)
    following.done(state, fallout.tasks)
    nodes: tuple[Task | DataObject, ...] = (*fallout.tasks, *fallout.objects)
    for node in nodes:
        if node.waits:
            waiting.failed(state, node, failure)
        if node.handles is NOBODY:
            state.graph.leaving.append(node)
    for session in dict.fromkeys(task.session for task in fallout.tasks):
        if not session.unfinished:
            waiting.idle(state, session)
    if not failure.cancelled:
        _end_those_that_stop(state, fallout.tasks, failure)


def _will_not_run(state: State, task: Task, failure: SessionFailure) -> None:
    state.news.unplanned.pop(task, None)
    state.news.ended.append(task)
    task.session.first_failed = task.session.first_failed or failure
    if task.kind.idempotent:
        lateness.out_of_count(state.graph, task)


def _end_those_that_stop(state: State, tasks: Iterable[Task], failure: SessionFailure) -> None:
    """Fails the sessions of tasks that read a failed one of another session, and do not go on."""
    for task in tasks:
        session = task.session
        if task in session.reads_outside and not task.goes_on:
            fail_session(state, session, failure)
