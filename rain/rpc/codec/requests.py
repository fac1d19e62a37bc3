"""What clients ask for, but for submissions (`rain.rpc.codec.submission`)."""

from collections.abc import Sequence

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.rpc.codec.border import Fields, clean
from rain.rpc.codec.failures import read_on_failure, write_on_failure
from rain.rpc.codec.submission import SubmitPart, read_submit, write_submit

__all__ = ["SubmitPart", "read_submit", "write_submit"]


@frozen
class Wait:
    """Answered when the wait is over."""

    session: SessionId
    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]
    mode: str  # one of `WaitMode` of the schema
    since: int = 0  # in the modes "news" and "glance": how many done tasks were told before


@frozen
class Cancel:
    """Nobody wants these any more, or nothing of the session.

    Unless it is for `always`, nothing ends while another call waits for something of the session.
    """

    session: SessionId
    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]
    whole: bool = False
    always: bool = False


@frozen
class CancelUnstarted:
    """Nobody wants these any more, but what runs already may end."""

    session: SessionId
    objects: Sequence[ObjectId]


@frozen
class HandlesGone:
    """The client has one handle less of each of these."""

    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]


@frozen
class TakeHandles:
    """The client has one more handle of each of these, and perhaps they are kept for it, too."""

    objects: Sequence[ObjectId]
    wants_data: bool = False


@frozen
class OpenSession:
    """Answered with the new session."""

    name: str
    user: str  # JSON
    on_failure: OnFailure
    parent: TaskId | None = None  # the running task that opens it


@frozen
class JoinSession:
    """The session of another client, by its id or else by its name."""

    session: SessionId
    name: str
    numbers: bool  # whether the client wants some of its own


@frozen
class Unkeep:
    """Objects of one session that nobody wants to keep any more."""

    objects: Sequence[ObjectId]


@frozen
class ReportsOf:
    """Tasks and objects whose states and infos are asked for."""

    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]
    logs: bool = False  # with what the tasks have printed


def write_wait(wait: Wait) -> Fields:
    fields: Fields = {"session": wait.session, "mode": wait.mode, "since": wait.since}
    if wait.tasks:
        fields["tasks"] = wait.tasks
    if wait.objects:
        fields["objects"] = wait.objects
    return fields


def read_wait(fields: Fields) -> Wait:
    since: int = fields["since"]
    if since < 0:
        raise ProtocolError(f"a wait: {since} tasks cannot have been told before")
    return Wait(fields["session"], fields["tasks"], fields["objects"], fields["mode"], since)


def write_cancel(cancel: Cancel) -> Fields:
    return {
        "session": cancel.session,
        "tasks": cancel.tasks,
        "objects": cancel.objects,
        "whole": cancel.whole,
        "always": cancel.always,
    }


def read_cancel(fields: Fields) -> Cancel:
    return Cancel(
        fields["session"], fields["tasks"], fields["objects"], fields["whole"], fields["always"]
    )


def write_cancel_unstarted(cancel: CancelUnstarted) -> Fields:
    return {"session": cancel.session, "objects": cancel.objects}


def read_cancel_unstarted(fields: Fields) -> CancelUnstarted:
    return CancelUnstarted(fields["session"], fields["objects"])


def write_handles_gone(gone: HandlesGone) -> Fields:
    return {"tasks": gone.tasks, "objects": gone.objects}


def read_handles_gone(fields: Fields) -> HandlesGone:
    return HandlesGone(fields["tasks"], fields["objects"])


def write_take_handles(taken: TakeHandles) -> Fields:
    return {"objects": taken.objects, "wantsData": taken.wants_data}


def read_take_handles(fields: Fields) -> TakeHandles:
    return TakeHandles(fields["objects"], fields["wantsData"])


def write_open_session(request: OpenSession) -> Fields:
    return {
        "name": clean(request.name),
        "user": clean(request.user),
        "onFailure": write_on_failure(request.on_failure),
        "parent": request.parent or 0,
    }


def read_open_session(fields: Fields) -> OpenSession:
    on_failure, parent = read_on_failure(fields["onFailure"]), fields["parent"]
    return OpenSession(
        fields["name"], fields["user"], on_failure, TaskId(parent) if parent else None
    )


def write_join_session(request: JoinSession) -> Fields:
    return {"session": request.session, "name": clean(request.name), "numbers": request.numbers}


def read_join_session(fields: Fields) -> JoinSession:
    return JoinSession(fields["session"], fields["name"], fields["numbers"])


def write_overview_of(session: SessionId) -> Fields:
    return {"session": session}


def read_overview_of(fields: Fields) -> SessionId:
    return SessionId(fields["session"])


def write_close_session(session: SessionId) -> Fields:
    return {"session": session}


def read_close_session(fields: Fields) -> SessionId:
    return SessionId(fields["session"])


def write_unkeep(unkeep: Unkeep) -> Fields:
    return {"objects": unkeep.objects}


def read_unkeep(fields: Fields) -> Unkeep:
    return Unkeep(fields["objects"])


def write_fetch(object_id: ObjectId) -> Fields:
    return {"object": object_id}


def read_fetch(fields: Fields) -> ObjectId:
    return ObjectId(fields["object"])


def write_reports_of(asked: ReportsOf) -> Fields:
    return {"tasks": asked.tasks, "objects": asked.objects, "logs": asked.logs}


def read_reports_of(fields: Fields) -> ReportsOf:
    return ReportsOf(fields["tasks"], fields["objects"], fields["logs"])
