"""Requests of clients (`rain.base.wire.requests`) that are no plain records, and their answers."""

from collections.abc import Sequence

from attrs import evolve

from rain.base.errors import ProtocolError
from rain.base.ids import LARGEST_SESSION, ObjectId, SessionId, TaskId
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.base.wire.grace import check_grace
from rain.base.wire.requests import Cancel, JoinSession, OpenSession, Promise, WaitFor
from rain.rpc.codec.amounts import read_resources, write_amounts
from rain.rpc.codec.border import check_ours, clean
from rain.rpc.codec.failures import ON_FAILURE
from rain.rpc.codec.record import columns
from rain.rpc.codec.split import slim_delivery
from rain.rpc.interface import Fields

MOST_PROMISED = 1000
"""Rows without content take no room in a message, so it may say that there are millions."""

_DELIVERY = columns(Delivery, {"content_types": "", "data": b""})


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
        "onFailure": ON_FAILURE.write(asked.on_failure),
        "parent": asked.parent or 0,
        "durable": asked.durable,
    }


def read_open_session(fields: Fields) -> OpenSession:
    on_failure, parent = ON_FAILURE.read(fields["onFailure"]), fields["parent"]
    task = TaskId(parent) if parent else None
    return OpenSession(fields["name"], fields["user"], on_failure, task, fields["durable"])


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


def write_opened(session: SessionId) -> Fields:
    return {"session": session}


def read_opened(results: Fields) -> SessionId:
    return read_session_id(results["session"])


def read_session_id(number: int) -> SessionId:
    """ValueError for a number that no session can have."""
    if not 0 < number <= LARGEST_SESSION:
        raise ValueError(f"there is no session {number}")
    return SessionId(number)


def write_promise(promise: Promise) -> Fields:
    rows = [{"resources": write_amounts(one.items())} for one in promise.governors]
    return {"governors": rows, "says": clean(promise.says)}


def read_promise(fields: Fields) -> Promise:
    rows = fields["governors"]
    if len(rows) > MOST_PROMISED:
        raise ValueError(f"{len(rows)} governors; there may be {MOST_PROMISED}")
    return Promise(tuple(read_resources(row["resources"]) for row in rows), fields["says"])


def write_cancelled(objects: Sequence[ObjectId]) -> Fields:
    return {"cancelled": objects}


def read_cancelled(results: Fields) -> Sequence[ObjectId]:
    cancelled: Sequence[ObjectId] = results["cancelled"]
    return cancelled


def write_wait_answer(answer: WaitAnswer) -> Fields:
    fields: Fields = {}
    if answer.tasks:
        fields["tasks"] = answer.tasks
    if answer.objects:
        fields["objects"] = answer.objects
    if answer.failed:
        fields["failed"] = answer.failed
    if answer.cancelled:
        fields["cancelled"] = answer.cancelled
    check_ours(answer.delivery)
    if answer.delivery.ids:
        fields["delivery"] = _DELIVERY.write(answer.delivery)
    return {"answer": fields}


def write_fitting_answer(answer: WaitAnswer) -> Fields:
    """Writes an answer without the bytes that would not fit into a message: they can be fetched."""
    slim = slim_delivery(answer.delivery)
    return write_wait_answer(answer if slim is answer.delivery else evolve(answer, delivery=slim))


def read_wait_answer(results: Fields) -> WaitAnswer:
    fields = results["answer"]
    answer = WaitAnswer(
        fields["tasks"], fields["objects"], failed=fields["failed"], cancelled=fields["cancelled"]
    )
    if fields["delivery"] is not None:
        answer.delivery = _DELIVERY.read(fields["delivery"])
        answer.delivery.check()
    return answer
