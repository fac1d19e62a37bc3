"""The checker sees every contradiction: each rule fails when its one fact is tampered with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.address import Source
from rain.base.copies import CopyRow
from rain.base.errors import InvariantError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.governors import GovernorRow
from rain.base.ids import ClientId
from rain.base.runs import RunCause, RunState
from rain.base.states import ObjectState, TaskRow
from rain.graph import DataObject, Session, check, planning
from rain.graph.handles import Handle, Handles
from rain.graph.run import Ending, Run
from tests.graph.subject import Subject


def test_the_subject_is_sound_and_has_a_task_in_every_row() -> None:
    subject = Subject()
    check(subject.graph)
    rows = {task.row for task in subject.graph.tasks.values()}
    assert rows == set(TaskRow)
    assert {o.state for o in subject.graph.objects.values()} == set(ObjectState)


Part = Callable[[Subject], object]


def _set(node: Part, name: str, value: object) -> Part:
    """Sets one field of one node."""
    return _link(node, name, lambda _: value)


def _link(node: Part, name: str, value: Part) -> Part:
    """The same with a value from the subject."""
    return lambda subject: setattr(node(subject), name, value(subject))


def of(name: str) -> Part:
    return lambda subject: getattr(subject, name)


def fail_with_wait(subject: Subject) -> None:
    subject.session.failure = SessionFailure("x")
    subject.session.waits[subject.wait()] = None


def idle_with_wait(subject: Subject) -> None:
    subject.session.unfinished = 0
    subject.session.idle_waits.append(subject.wait())


def _containing(holder: str, *inside: str) -> Part:
    """Something has futures inside, and nobody has counted them."""

    def contain(subject: Subject) -> None:
        found: tuple[DataObject, ...] = tuple(getattr(subject, one) for one in inside)
        subject.session.contents[getattr(subject, holder)] = found

    return contain


def lineage_of_contents(subject: Subject) -> None:
    subject.done.may_run_again = True
    _containing("done", "held")(subject)


TAMPERED: dict[str, tuple[Part, str]] = {
    # References.
    "contents that were not counted": (_containing("ready", "held"), "2 need it, 1"),
    "lineage of contents that was not counted": (
        lineage_of_contents,
        "held|1 may read it again",
    ),
    "a finished task that contains something": (
        _containing("done", "held"),
        "finished>: never runs, and contains something",
    ),
    "contents named twice": (_containing("ready", "held", "held"), "contains \\("),
    "an object that contains itself": (_containing("held", "held"), "contains itself"),
    "removed data that contains something": (
        _containing("removed", "held"),
        "removed>: its data has gone, and it contains something",
    ),
    "a task that is said to read others": (
        lambda s: s.session.reads_outside.update({s.ready: None}),
        "ready> reads only its own",
    ),
    "a session that was left and is listed": (
        lambda s: setattr(s.session, "is_left", True),
        "it is left, and its client lists it",
    ),
    # Tasks.
    "a waiting task with a plan": (
        _link(of("waiting"), "scheduled", of("first")),
        "Task .* waiting>: scheduled on",
    ),
    "a planned task without a plan": (
        _set(of("planned"), "scheduled", None),
        "planned>: scheduled on None",
    ),
    "a governor that drains and has tasks that have not started": (
        lambda s: s.first.drain(),
        "it has not started",
    ),
    "a governor that rests and offers cpus": (
        _set(of("first"), "row", GovernorRow.RESTS),
        "rests: False|offers",
    ),
    "a governor that works and offers nothing": (
        _set(of("second"), "cpus", 0),
        "offers 0 cpus",
    ),
    "a governor that counts the tasks ahead wrongly": (
        _set(of("first"), "ahead", 0),
        "0 tasks ahead, counted 1",
    ),
    "a task ahead of what nobody makes there": (
        lambda subject: planning.withdraw(subject.running, Ending(9.0, RunCause.TAKEN_BACK)),
        "ahead>: its inputs are not made on",
    ),
    "a ready task that misses inputs": (_set(of("ready"), "missing", 1), "1 inputs missing"),
    "a waiting task that misses nothing": (_set(of("waiting"), "missing", 0), "0 inputs missing"),
    "a task that counts its missing inputs wrongly": (
        _set(of("waiting"), "missing", 2),
        "1 inputs are unfinished",
    ),
    "an assigned task that is assigned to nobody": (
        _set(of("sent"), "assigned", None),
        "assigned to None",
    ),
    "a queued task that is assigned": (
        _link(of("queued"), "assigned", of("first")),
        "queued>: assigned to",
    ),
    "a task on a governor that has left": (
        _link(of("queued"), "scheduled", of("stranger")),
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
        _link(of("sent"), "assigned", of("second")),
        "assigned and scheduled differ",
    ),
    "an assigned task without a run": (
        _set(of("sent"), "run", None),
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
        _link(of("coming"), "session", lambda s: Session(s.session.id, s.session.client)),
        "is of another session",
    ),
    "a reader that its input does not know": (
        _set(of("coming"), "consumers", ()),
        "does not list it as a consumer",
    ),
    "a reader of what was removed": (
        _set(of("coming"), "state", ObjectState.REMOVED),
        "removed> needed",
    ),
    "an output that names another producer": (
        _link(of("later"), "producer", of("done")),
        "names another producer",
    ),
    "a finished task with an unfinished output": (
        _set(of("removed"), "state", ObjectState.UNFINISHED),
        "finished with unfinished outputs",
    ),
    "a finished task that somebody waits for": (
        _link(of("done"), "waits", lambda s: [s.wait()]),
        "Task .* finished>: finished, and somebody still waits",
    ),
    "a cancelled task that has failed otherwise": (
        _link(of("ended"), "failure", lambda s: s.broken.failure),
        "cancelled>: it ended so because of",
    ),
    "a failed task that was cancelled": (
        _link(of("broken"), "failure", lambda s: s.ended.failure),
        "failed>: it ended so because of",
    ),
    "a cancelled task without a cause": (
        _set(of("ended"), "failure", None),
        "cancelled>: failed because of None",
    ),
    "a cancelled task that still has a governor": (
        _set(of("ending"), "row", TaskRow.CANCELLED),
        "cancelled>: scheduled on <Governor 2",
    ),
    "a task that is being cancelled and has no governor": (
        _set(of("ended"), "row", TaskRow.CANCELLING),
        "cancelling>: scheduled on None",
    ),
    "a task that is being cancelled and takes no cpus": (
        _set(of("second"), "active_cpus", 0),
        "Governor 2 .*>: 0 cpus active, counted 2",
    ),
    "a task that is being cancelled and that somebody waits for": (
        _link(of("ending"), "waits", lambda s: [s.wait()]),
        "cancelling>: failed, and somebody still waits",
    ),
    "a failed task without a cause": (
        _set(of("broken"), "failure", None),
        "failed>: failed because of None",
    ),
    "a failed task in a session that should have stopped": (
        _set(of("session"), "on_failure", OnFailure.STOP),
        "failed>: failed, and its session goes on",
    ),
    "a failed task that its session does not know of": (
        _set(of("session"), "first_failed", None),
        "its session does not know",
    ),
    "a skipped task that somebody waits for": (
        _link(of("skipped"), "waits", lambda s: [s.wait()]),
        "skipped>: failed, and somebody still waits",
    ),
    "a failed task whose output may still come": (
        _set(of("never"), "state", ObjectState.UNFINISHED),
        "failed with unfinished outputs",
    ),
    "a task that waits for what will never be made": (
        _set(of("coming"), "state", ObjectState.FAILED),
        "waiting>: waits for what will never be made",
    ),
    # Objects.
    "a failed object that has bytes": (
        _set(of("never"), "data", b"x"),
        "failed, but the server has its bytes",
    ),
    "a failed object on a governor": (
        lambda s: setattr(s.never, "copies", s.held.copies),
        r"failed>: it has \(<Copy",
    ),
    "a failed object of a task that may still make it": (
        _set(of("coming"), "state", ObjectState.FAILED),
        "failed, but not <Task",
    ),
    "a failed object that somebody waits for": (
        _link(of("never"), "waits", lambda s: [s.wait()]),
        "failed>: failed, and somebody still waits",
    ),
    "a copy on a governor that has left": (
        lambda s: setattr(s.held.copies[1], "governor", s.stranger),
        "stranger:1> has left",
    ),
    "a copy that its governor does not list": (
        (lambda s: s.second.objects.pop(s.held)),
        "<Governor 2 .*> does not list its copy",
    ),
    "a copy in a row that follows from the producer": (
        lambda s: setattr(s.held.copies[1], "row", CopyRow.MAKING),
        "<Copy of .* on <Governor 2 .*> making> is in no row of its own",
    ),
    "a copy of another object": (
        lambda s: setattr(s.held.copies[1], "object", s.small),
        "finished>: it has <Copy of",
    ),
    "two copies on one governor": (
        lambda s: setattr(s.held, "copies", s.held.copies[:1] * 2),
        "two copies on a governor",
    ),
    "a copy that has arrived and still counts its failures": (
        lambda s: setattr(s.held.copies[1], "tries", 1),
        "held> was tried 1 times",
    ),
    "an object that counts its readers wrongly": (
        _set(of("coming"), "needed_by", 5),
        "2 need it, 5",
    ),
    "an object of a session that is gone": (
        (lambda s: s.graph.sessions.clear()),
        "Governor 1 .*>: <DataObject .* finished> is gone",
    ),
    "an unfinished object that nobody makes": (
        _set(of("later"), "producer", None),
        "unfinished without a producer",
    ),
    "an unfinished object that is somewhere": (
        lambda s: setattr(s.coming, "copies", s.held.copies),
        r"unfinished>: it has \(<Copy",
    ),
    "an unfinished object that the server has": (
        _set(of("coming"), "data", b"x"),
        "unfinished, but the server has its bytes",
    ),
    "an unfinished object whose producer is done": (
        _set(of("running"), "row", TaskRow.FINISHED),
        "unfinished after",
    ),
    "a finished object that is nowhere": (
        _set(of("held"), "copies", ()),
        "finished, but nowhere",
    ),
    "a finished object that nobody needs": (
        _link(of("small"), "handles", lambda s: s.session.owner.holding),
        "finished and not needed, but neither removed nor about to be",
    ),
    "data of another size": (_set(of("small"), "size", 77), "size of data"),
    "a finished object that somebody waits for": (
        _link(of("held"), "waits", lambda s: [s.wait()]),
        "DataObject .* finished>: finished, and somebody still waits",
    ),
    "a removed object that is somewhere": (
        lambda s: setattr(s.removed, "copies", s.held.copies),
        r"removed>: it has \(<Copy",
    ),
    "a removed object that the server has": (
        _set(of("removed"), "data", b"x"),
        "removed, but the server has its bytes",
    ),
    "a removed object that is needed": (
        _link(of("removed"), "handles", lambda s: s.session.owner.keeping),
        "removed, but needed",
    ),
    "an object that was removed before it was made": (
        _set(of("later"), "state", ObjectState.REMOVED),
        "removed before it was made",
    ),
    # Claims.
    "a handle of a client that has left": (
        (lambda s: s.session.members.pop(s.guest.client)),
        "the client 2 has a handle, and takes no part",
    ),
    "a handle that its client does not know of": (
        (lambda s: s.guest.nodes.pop(s.held)),
        "DataObject .* finished>: Member.client=2, .* does not list its handle",
    ),
    "a client that lists what it has no handle of": (
        (lambda s: s.guest.nodes.update({s.queued: None})),
        "Session 1 .*>: Member.client=2, .* has none of <Task",
    ),
    "a client that lists what has gone": (
        (lambda s: s.session.objects.pop(s.held.id)),
        "has a handle of <DataObject .* finished>, which has gone",
    ),
    "a member that is listed as another one": (
        _set(of("guest"), "client", ClientId(1)),
        "is listed as 2",
    ),
    "a member that calls itself the owner": (
        _set(of("guest"), "is_owner", True),
        "whether Member",
    ),
    "an owner that lists its handles": (
        (lambda s: s.session.owner.nodes.update({s.held: None})),
        "lists what it has handles of",
    ),
    "a session without its owner": (
        (lambda s: s.session.members.pop(s.session.client.id)),
        "its client does not take part in it",
    ),
    "a handle that counts nothing": (
        _set(of("held"), "handles", Handles((Handle(ClientId(1), 0, wants_data=True),), True)),
        "counts nothing",
    ),
    "two entries of one client": (
        _set(of("ready"), "handles", Handles((Handle(ClientId(1)), Handle(ClientId(1))))),
        "two entries of handles",
    ),
    "handles that want data, and say that they do not": (
        _set(of("held"), "handles", Handles((Handle(ClientId(1), 1, wants_data=True),))),
        "of its handles .True. want its data",
    ),
    "an empty value of handles beside the only one": (
        _set(of("ready"), "handles", Handles()),
        "a second value says that nobody has it",
    ),
    "a result to be delivered that its client does not want": (
        (lambda s: s.session.undelivered.update({s.coming: None})),
        "does not want <DataObject",
    ),
    "lineage that is counted wrongly": (_set(of("held"), "remade_by", 2), "0 may read it again"),
    "a task that nobody will ask to run again": (
        _set(of("done"), "may_run_again", True),
        "nobody will ask it to run again",
    ),
    # Governors.
    "a scheduled task that names another governor": (
        (lambda s: s.second.scheduled.update({s.queued: None})),
        "Governor 2 .*>: <Task .* queued> is scheduled on <Governor 1",
    ),
    "a scheduled task that is gone": (
        (lambda s: s.session.tasks.pop(s.queued.id)),
        "Governor 1 .*>: <Task .* queued> is gone",
    ),
    "an assigned task that is not scheduled": (
        (lambda s: s.first.scheduled.pop(s.sent)),
        "is assigned but not scheduled",
    ),
    "an assigned task that names another governor": (
        (lambda s: s.second.assigned.update({s.sent: None})),
        "Governor 2 .*>: <Task .* assigned> is assigned to <Governor 1",
    ),
    "a queued task that is not scheduled": (
        (lambda s: s.first.scheduled.pop(s.queued)),
        "is queued but not scheduled",
    ),
    "a task in the queue that is not queued": (
        (lambda s: s.first.queue.add(s.ready)),
        "ready> is in the queue",
    ),
    "a pause that never ends": (
        (lambda s: s.graph.pauses.clear()),
        "paused> pauses, and nothing ends that",
    ),
    "a pause after a run that has not failed": (
        (lambda s: setattr(s.paused.run, "state", RunState.HANDED_BACK)),
        "paused> pauses after <Run 1",
    ),
    "pauses in disorder": (
        (lambda s: s.graph.pauses.append((0.0, s.ready.id, 1))),
        "pauses in disorder",
    ),
    "cpus that are counted wrongly": (
        _set(of("first"), "active_cpus", 7),
        "7 cpus active, counted 3",
    ),
    "a copy that its object does not have": (
        (lambda s: s.second.objects.update({s.small: s.small.copies[0]})),
        "Governor 2 .*>: lists <Copy .* as the copy of",
    ),
    "a governor that lists a copy after its end": (
        lambda s: setattr(s.small, "copies", ()),
        "Governor 1 .*>: lists <Copy .*, which its object does not have",
    ),
    "a held object that is gone": (
        (lambda s: s.session.objects.pop(s.held.id)),
        "Governor 1 .*>: <DataObject .* finished> is gone",
    ),
    # Sessions.
    "a session that its client does not list": (
        (lambda s: s.session.client.sessions.clear()),
        "its client does not list it",
    ),
    "a session of a client that has left": (
        (lambda s: s.graph.clients.clear()),
        "its client has left",
    ),
    "unfinished tasks that are counted wrongly": (
        _set(of("session"), "unfinished", 3),
        "3 unfinished, 11",
    ),
    "stored bytes that are counted wrongly": (
        _set(of("session"), "stored", 1),
        "1 bytes stored, counted ",
    ),
    "a failed session that is not empty": (
        _set(of("session"), "failure", SessionFailure("x")),
        "failed, but not empty",
    ),
    "a failed session that somebody waits for": (
        (fail_with_wait),
        "failed, and somebody still waits",
    ),
    "an idle session that somebody waits for": (
        (idle_with_wait),
        "idle, and somebody still waits",
    ),
    "a task that has another id in its session": (
        (lambda s: s.session.tasks.update({s.queued.id: s.ready})),
        "Session 1 .*>: it has <Task .* ready> as 1/",
    ),
    "an object that has another id in its session": (
        (lambda s: s.session.objects.update({s.held.id: s.small})),
        "Session 1 .*>: it has <DataObject .* finished> as 1/",
    ),
    "nodes that are counted wrongly": (
        (lambda s: s.session.tasks.pop(s.ready.id)),
        "nodes are linked, there are",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_tampered_with_is_seen(name: str) -> None:
    # given
    subject = Subject()
    tamper, claim = TAMPERED[name]
    # when
    tamper(subject)
    # then
    with pytest.raises(InvariantError, match=claim):
        check(subject.graph)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    subject = Subject()
    subject.session.unfinished = 0
    subject.small.size = 9
    with pytest.raises(InvariantError) as caught:
        check(subject.graph)
    assert len(str(caught.value).splitlines()) == 4
