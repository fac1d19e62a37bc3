"""Requests of clients (`rain.base.requests`) that are no plain records."""

from rain.base.errors import ProtocolError
from rain.base.ids import TaskId
from rain.base.requests import Cancel, JoinSession, OpenSession, WaitFor
from rain.base.wire import check_grace
from rain.rpc.codec.border import Fields, clean
from rain.rpc.codec.failures import read_on_failure, write_on_failure


def write_wait(wait: WaitFor) -> Fields:
    fields: Fields = {"session": wait.session, "mode": wait.mode, "since": wait.since}
    if wait.tasks:
        fields["tasks"] = wait.tasks
    if wait.objects:
        fields["objects"] = wait.objects
    return fields


def read_wait(fields: Fields) -> WaitFor:
    since: int = fields["since"]
    if since < 0:
        raise ProtocolError(f"a wait: {since} tasks cannot have been told before")
    tasks, objects = tuple(fields["tasks"]), tuple(fields["objects"])
    return WaitFor(fields["session"], tasks, objects, fields["mode"], since)


def read_cancel(fields: Fields) -> Cancel:
    check_grace(fields["grace"])
    return Cancel(
        fields["session"],
        tuple(fields["tasks"]),
        tuple(fields["objects"]),
        fields["whole"],
        fields["always"],
        fields["recursive"],
        fields["grace"],
    )


def write_open_session(asked: OpenSession) -> Fields:
    return {
        "name": clean(asked.name),
        "user": clean(asked.user),
        "onFailure": write_on_failure(asked.on_failure),
        "parent": asked.parent or 0,
    }


def read_open_session(fields: Fields) -> OpenSession:
    on_failure, parent = read_on_failure(fields["onFailure"]), fields["parent"]
    return OpenSession(
        fields["name"], fields["user"], on_failure, TaskId(parent) if parent else None
    )


def write_join_session(asked: JoinSession) -> Fields:
    return {
        "session": asked.session,
        "name": clean(asked.name),
        "numbers": asked.numbers,
        "parent": asked.parent or 0,
    }


def read_join_session(fields: Fields) -> JoinSession:
    parent = fields["parent"]
    return JoinSession(
        fields["session"], fields["name"], fields["numbers"], TaskId(parent) if parent else None
    )
