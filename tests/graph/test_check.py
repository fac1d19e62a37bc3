"""The checker sees every contradiction of governors and sessions, and tells of all at once."""

from __future__ import annotations

import pytest

from rain.base.errors import InvariantError
from rain.base.failures import SessionFailure
from rain.base.runs import RunState
from rain.base.states import ObjectState, TaskRow
from rain.graph import check
from tests.graph.subject import Subject
from tests.graph.tampering import Tampered, check_is_seen, of, setting


def test_the_subject_is_sound_and_has_a_task_in_every_row() -> None:
    subject = Subject()
    check(subject.graph)
    rows = {task.row for task in subject.graph.tasks.values()}
    assert rows == set(TaskRow)
    assert {o.state for o in subject.graph.objects.values()} == set(ObjectState)


def fail_with_wait(subject: Subject) -> None:
    subject.session.failure = SessionFailure("x")
    subject.session.waits[subject.wait()] = None


def idle_with_wait(subject: Subject) -> None:
    subject.session.unfinished = 0
    subject.session.idle_waits.append(subject.wait())


TAMPERED: Tampered = {
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
        setting(of("first"), "active_cpus", 7),
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
        setting(of("session"), "unfinished", 3),
        "3 unfinished, 11",
    ),
    "stored bytes that are counted wrongly": (
        setting(of("session"), "stored", 1),
        "1 bytes stored, counted ",
    ),
    "a failed session that is not empty": (
        setting(of("session"), "failure", SessionFailure("x")),
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
    check_is_seen(TAMPERED[name])


def test_everything_that_is_wrong_is_told_at_once() -> None:
    subject = Subject()
    subject.session.unfinished = 0
    subject.small.size = 9
    with pytest.raises(InvariantError) as caught:
        check(subject.graph)
    assert len(str(caught.value).splitlines()) == 4
