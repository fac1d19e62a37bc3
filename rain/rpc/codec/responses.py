"""What waits and submissions are answered, and a new session: the results of these calls."""

from collections.abc import Sequence

from attrs import evolve

from rain.base.ids import LARGEST_SESSION, ObjectId, SessionId
from rain.base.wire import Delivery, WaitAnswer
from rain.rpc.codec.border import Fields, check_ours, filled, with_columns
from rain.rpc.codec.split import slim_delivery


def write_opened(session: SessionId) -> Fields:
    return {"session": session}


def read_opened(results: Fields) -> SessionId:
    return read_session_id(results["session"])


def read_session_id(number: int) -> SessionId:
    """ValueError for a number that no session can have."""
    if not 0 < number <= LARGEST_SESSION:
        raise ValueError(f"there is no session {number}")
    return SessionId(number)


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
        fields["delivery"] = _write_delivery(answer.delivery)
    return {"answer": fields}


def write_fitting_answer(answer: WaitAnswer) -> Fields:
    """The same, without the bytes that would not fit into a message: they can be fetched."""
    slim = slim_delivery(answer.delivery)
    return write_wait_answer(answer if slim is answer.delivery else evolve(answer, delivery=slim))


def read_wait_answer(results: Fields) -> WaitAnswer:
    fields = results["answer"]
    delivery = _read_delivery(fields["delivery"])
    delivery.check()
    return WaitAnswer(
        fields["tasks"], fields["objects"], delivery, fields["failed"], fields["cancelled"]
    )


def _write_delivery(delivery: Delivery) -> Fields:
    return with_columns(
        {"ids": delivery.ids, "sizes": delivery.sizes},
        contentTypes=delivery.content_types,
        data=delivery.data,
    )


def _read_delivery(fields: Fields) -> Delivery:
    rows = len(fields["ids"])
    return Delivery(
        fields["ids"],
        fields["sizes"],
        filled(fields["contentTypes"], rows, ""),
        filled(fields["data"], rows, b""),
    )
