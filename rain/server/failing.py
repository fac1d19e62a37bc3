"""Attempts that fail: the task is tried again, or it has failed for good, and what that means.

In a session that stops, it is the end of the session. In one that goes on, it is the end of what
depends on the task, and whoever waits for any of that is told the cause.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from rain.base.failures import FailedAttempt, FailureCause, SessionFailure, shortened
from rain.base.moments import rfc3339
from rain.base.states import TaskMove
from rain.base.wire import TaskFailure
from rain.graph import DataObject, Governor, Task, failing, planning
from rain.graph.cancelling import unstarted, unwanted
from rain.graph.handles import NOBODY
from rain.server import following, tries, waiting
from rain.server.sessions import fail_session
from rain.server.state import State

CANCELLED = "it was cancelled"
INTERRUPTED = "it was cancelled: the call that waited for it was interrupted"


def attempt_failed(state: State, governor: Governor, task: Task, failure: TaskFailure) -> None:
    """The current attempt of a task has failed on a governor that lives on."""
    made = FailedAttempt(
        failure.attempt, governor.address, failure.cause, failure.message, failure.debug
    )
    task.governor_address = governor.address
    state.touched[governor] = None
    again = _has_another_try(state, task, made)
    if state.happenings is not None:
        state.happenings.attempt_failed(state.now, task, made, again=again)
    for stopped in planning.recall_followers(task):
        state.stop(*stopped)
    planning.withdraw(task, TaskMove.ATTEMPT_FAILED)
    if again or task.goes_on:
        state.forget_outputs(governor, task)
    if again:
        _remember(task, made)
        state.news.unplanned[task] = None
    else:
        verdict = _verdict(state, task, made, made.message)
        give_up(state, task, evolve(verdict, exception=failure.exception))


def governor_lost(state: State, task: Task, address: str, cause: str) -> None:
    """A governor was lost that may have been running the task, which is without a plan again."""
    made = FailedAttempt(task.attempt, address, FailureCause.GOVERNOR, cause)
    again = _has_another_try(state, task, made)
    if state.happenings is not None and (task.started or not again):
        state.happenings.attempt_failed(state.now, task, made, again=again)
    if again:
        _remember(task, made)
        return
    limit = state.settings.crash_limit
    give_up(
        state,
        task,
        _verdict(
            state,
            task,
            made,
            f"the task was running on {limit} governors when they were lost, so that it is taken"
            f" for the reason; the last one was {address}: {cause}",
        ),
    )


def give_up(state: State, task: Task, failure: SessionFailure) -> None:
    """A task will not run (again)."""
    session = task.session
    if not task.goes_on:
        fail_session(state, session, failure)
        return
    if not task.fails_alone:  # else the one who computes it waits for it
        session.untold = session.untold or failure
    pass_on(state, failing.fail([task], failure))


def unmakeable(state: State, objects: Iterable[tuple[DataObject, SessionFailure]]) -> None:
    """Objects were lost and will not be made again, in sessions that go on."""
    for data_object, failure in objects:
        session = data_object.session
        session.untold = session.untold or failure
        pass_on(state, failing.spoil(data_object, failure))


def skip_hopeless(state: State, tasks: Iterable[Task]) -> None:
    """Some new tasks may read what has failed before they were submitted."""
    for task in tasks:
        for data_object in task.inputs:
            if data_object.has_failed and not task.is_done:
                failure = failing.failure_of(data_object)
                if not task.fails_alone:
                    task.session.untold = task.session.untold or failure
                pass_on(state, failing.fail([task], failure))


def cancel(state: State, targets: Iterable[Task], why: str) -> None:
    """Nobody wants these any more: they end, with all that served nothing else."""
    _cancel(state, unwanted(targets), why)


def cancel_unstarted(state: State, targets: Iterable[Task], why: str) -> None:
    """The same, and what runs for nothing else goes on."""
    _cancel(state, unstarted(unwanted(targets)), why)


def _cancel(state: State, tasks: list[Task], why: str) -> None:
    if tasks:
        failure = SessionFailure(why, task=tasks[0].id, cancelled=True)
        pass_on(state, failing.fail(tasks, failure))


def _has_another_try(state: State, task: Task, failed: FailedAttempt) -> bool:
    failures = (*task.failures, failed)
    return tries.may_try_again(task.kind.tries, failures, state.settings.crash_limit)


def _remember(task: Task, failed: FailedAttempt) -> None:
    failed = evolve(failed, message=shortened(failed.message), debug=shortened(failed.debug))
    task.failures = (*task.failures, failed)


def _verdict(state: State, task: Task, last: FailedAttempt, message: str) -> SessionFailure:
    attempts = (*task.failures, last) if task.failures else ()
    duration = state.now - task.started if task.started else 0.0
    return SessionFailure(
        message,
        last.debug,
        task.id,
        attempts,
        last.governor,
        rfc3339(task.started),
        duration,
    )


def pass_on(state: State, fallout: failing.Fallout) -> None:
    """What has failed in a session that goes on: stops, drops, and answers to those who wait."""
    failure = fallout.failure
    for governor, task, attempt in fallout.stopped:
        state.stop(governor, task, attempt)
    gone = set(fallout.objects)
    state.forget_fetches(lambda data_object, _: data_object in gone)
    state.release_soon(fallout.free)
    for task in fallout.tasks:
        state.news.unplanned.pop(task, None)
        task.session.first_failed = task.session.first_failed or failure
    if state.happenings is not None:
        skipped = [task for task in fallout.tasks if task.id != failure.task or not task.attempt]
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
