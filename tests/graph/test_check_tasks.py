"""The checker sees every contradiction of tasks and their runs."""

from __future__ import annotations

import pytest

from rain.base.address import Source
from rain.base.failures import OnFailure
from rain.base.governors import GovernorRow
from rain.base.runs import RunCause, RunState
from rain.base.states import ObjectState, TaskRow
from rain.graph import Session, planning
from rain.graph.run import Ending, Run
from tests.graph.tampering import Tampered, check_is_seen, linking, of, setting

TAMPERED: Tampered = {
    "a waiting task with a plan": (
        linking(of("waiting"), "scheduled", of("first")),
        "Task .* waiting>: scheduled on",
    ),
    "a planned task without a plan": (
        setting(of("planned"), "scheduled", None),
        "planned>: scheduled on None",
    ),
    "a governor that drains and has tasks that have not started": (
        lambda s: s.first.drain(),
        "it has not started",
    ),
    "a governor that rests and offers cpus": (
        setting(of("first"), "row", GovernorRow.RESTS),
        "rests: False|offers",
    ),
    "a governor that works and offers nothing": (
        setting(of("second"), "cpus", 0),
        "offers 0 cpus",
    ),
    "a governor that counts the tasks ahead wrongly": (
        setting(of("first"), "ahead", 0),
        "0 tasks ahead, counted 1",
    ),
    "a task ahead of what nobody makes there": (
        lambda subject: planning.withdraw(subject.running, Ending(9.0, RunCause.TAKEN_BACK)),
        "ahead>: its inputs are not made on",
    ),
    "a ready task that misses inputs": (setting(of("ready"), "missing", 1), "1 inputs missing"),
    "a waiting task that misses nothing": (
        setting(of("waiting"), "missing", 0),
        "0 inputs missing",
    ),
    "a task that counts its missing inputs wrongly": (
        setting(of("waiting"), "missing", 2),
        "1 inputs are unfinished",
    ),
    "an assigned task that is assigned to nobody": (
        setting(of("sent"), "assigned", None),
        "assigned to None",
    ),
    "a queued task that is assigned": (
        linking(of("queued"), "assigned", of("first")),
        "queued>: assigned to",
    ),
    "a task on a governor that has left": (
        linking(of("queued"), "scheduled", of("stranger")),
        "stranger:1> has left",
    ),
    "a task that its governor does not list": (
        (lambda s: s.first.scheduled.pop(s.planned)),
        "does not list it as scheduled",
    ),
    "a queued task that is not in the queue": (
        (lambda s: s.first.queue.remove(s.queued)),
        "queued on <Governor 1 .*>: False",
    ),
    "an assigned task that is still in the queue": (
        (lambda s: s.first.queue.add(s.sent)),
        "queued on <Governor 1 .*>: True",
    ),
    "an assigned task that its governor does not list as assigned": (
        (lambda s: s.first.assigned.pop(s.sent)),
        "disagrees on assigned",
    ),
    "a task that is scheduled here and assigned there": (
        linking(of("sent"), "assigned", of("second")),
        "assigned and scheduled differ",
    ),
    "an assigned task without a run": (
        setting(of("sent"), "run", None),
        "assigned without a run",
    ),
    "a run on another incarnation of its governor": (
        lambda s: setattr(s.sent.run, "place", Source(s.first.address, 99)),
        "<Run 1 on .* told>, assigned to <Governor 1",
    ),
    "an assigned task whose run has ended": (
        lambda s: setattr(s.sent.run, "state", RunState.FINISHED),
        "<Run 1 on .* finished>, assigned to <Governor 1",
    ),
    "an open run of a task that nobody has": (
        lambda s: setattr(s.done.run, "state", RunState.TOLD),
        "finished>: <Run 1 on .* told>, assigned to None",
    ),
    "a running task whose run has not started": (
        lambda s: setattr(s.running.run, "state", RunState.TOLD),
        "running>: <Run 1 on .* told> is open",
    ),
    "a running run without a start": (
        lambda s: setattr(s.running.run, "started", 0.0),
        "running> without a start",
    ),
    "a finished task whose run has failed": (
        lambda s: setattr(s.done.run, "state", RunState.FAILED),
        "finished by <Run 1 on .* failed>",
    ),
    "a failed run without a cause": (
        lambda s: setattr(s.broken.run, "cause", None),
        "failed> because of None",
    ),
    "a failed run with the cause of another state": (
        lambda s: setattr(s.broken.run, "cause", RunCause.RECALLED),
        "failed> because of RunCause.RECALLED",
    ),
    "runs whose numbers do not go up": (
        lambda s: setattr(s.broken, "former", (s.done.run,)),
        r"its runs are numbered \[1, 1\]",
    ),
    "a former run that is open": (
        lambda s: setattr(s.broken, "former", (Run(0, s.first.place, 1.0),)),
        "<Run 0 on .* told> is open, and another one came after it",
    ),
    "former runs without a last one": (
        lambda s: setattr(s.ready, "former", (s.done.run,)),
        "former runs, and no last one",
    ),
    "a task of a session that is gone": (
        (lambda s: s.graph.sessions.clear()),
        "Governor 1 .*>: <Task .* queued> is gone",
    ),
    "an input of another session": (
        linking(of("coming"), "session", lambda s: Session(s.session.id, s.session.client)),
        "is of another session",
    ),
    "a reader that its input does not know": (
        setting(of("coming"), "consumers", ()),
        "does not list it as a consumer",
    ),
    "a reader of what was removed": (
        setting(of("coming"), "state", ObjectState.REMOVED),
        "removed> needed",
    ),
    "an output that names another producer": (
        linking(of("later"), "producer", of("done")),
        "names another producer",
    ),
    "a finished task with an unfinished output": (
        setting(of("removed"), "state", ObjectState.UNFINISHED),
        "finished with unfinished outputs",
    ),
    "a finished task that somebody waits for": (
        linking(of("done"), "waits", lambda s: [s.wait()]),
        "Task .* finished>: finished, and somebody still waits",
    ),
    "a cancelled task that has failed otherwise": (
        linking(of("ended"), "failure", lambda s: s.broken.failure),
        "cancelled>: it ended so because of",
    ),
    "a failed task that was cancelled": (
        linking(of("broken"), "failure", lambda s: s.ended.failure),
        "failed>: it ended so because of",
    ),
    "a cancelled task without a cause": (
        setting(of("ended"), "failure", None),
        "cancelled>: failed because of None",
    ),
    "a cancelled task that still has a governor": (
        setting(of("ending"), "row", TaskRow.CANCELLED),
        "cancelled>: scheduled on <Governor 2",
    ),
    "a task that is being cancelled and has no governor": (
        setting(of("ended"), "row", TaskRow.CANCELLING),
        "cancelling>: scheduled on None",
    ),
    "a task that is being cancelled and takes no cpus": (
        setting(of("second"), "active_cpus", 0),
        "Governor 2 .*>: 0 cpus active, counted 2",
    ),
    "a task that is being cancelled and that somebody waits for": (
        linking(of("ending"), "waits", lambda s: [s.wait()]),
        "cancelling>: failed, and somebody still waits",
    ),
    "a failed task without a cause": (
        setting(of("broken"), "failure", None),
        "failed>: failed because of None",
    ),
    "a failed task in a session that should have stopped": (
        setting(of("session"), "on_failure", OnFailure.STOP),
        "failed>: failed, and its session goes on",
    ),
    "a failed task that its session does not know of": (
        setting(of("session"), "first_failed", None),
        "its session does not know",
    ),
    "a skipped task that somebody waits for": (
        linking(of("skipped"), "waits", lambda s: [s.wait()]),
        "skipped>: failed, and somebody still waits",
    ),
    "a failed task whose output may still come": (
        setting(of("never"), "state", ObjectState.UNFINISHED),
        "failed with unfinished outputs",
    ),
    "a task that waits for what will never be made": (
        setting(of("coming"), "state", ObjectState.FAILED),
        "waiting>: waits for what will never be made",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_tampered_with_is_seen(name: str) -> None:
    check_is_seen(TAMPERED[name])
