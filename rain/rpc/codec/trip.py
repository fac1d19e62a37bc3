"""A trip through the wire and back, for tests that want every message really encoded.

What `through_the_wire` gives back equals what it was given, except that text for people has lost
what UTF-8 cannot hold. A part that could not be sent, or not be read, fails here as it would in
production.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from attrs import evolve

from rain.base.failures import SessionFailure
from rain.base.wire import (
    Fetched,
    GovernorReport,
    ObjectReport,
    Orders,
    Submission,
    TaskReport,
    Update,
    WaitAnswer,
)
from rain.rpc import schema
from rain.rpc.codec import answers, orders, requests, responses, update
from rain.rpc.codec.border import Builder, Interface, Reader
from rain.rpc.codec.plain import check_size, unpacked

V = TypeVar("V")


class _Way(NamedTuple):
    """How one type of value travels."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _alone(
    struct: Interface, write: Callable[[Builder, Any], None], read: Callable[[Reader], Any]
) -> _Way:
    """The way of a value that is a message by itself here, and a part of others elsewhere."""

    def encode(value: object) -> bytes:
        builder = struct.new_message()
        write(builder, value)
        content: bytes = builder.to_bytes()
        return content

    def decode(content: bytes) -> object:
        return unpacked("a value", struct, content, read)

    return _Way(encode, decode)


def _submit(submission: Submission) -> bytes:
    return requests.write_request(0, requests.SubmitPart(submission, (), last=True))


def _submitted(content: bytes) -> Submission:
    _, request = requests.read_request(content)
    assert isinstance(request, requests.SubmitPart)
    return request.part


def _answer(answer: WaitAnswer) -> bytes:
    return responses.write_waited(0, answer)


def _answered(content: bytes) -> object:
    return responses.read_answer(content)[1]


_WAYS: dict[type, _Way] = {
    Submission: _Way(_submit, _submitted),
    Orders: _Way(orders.encode_orders, orders.decode_orders),
    Update: _Way(update.encode_update, update.decode_update),
    WaitAnswer: _Way(_answer, _answered),
    str: _alone(schema.common.Refusal, answers.write_refusal, answers.read_refusal),
    SessionFailure: _alone(schema.common.Refusal, answers.write_refusal, answers.read_refusal),
    TaskReport: _alone(
        schema.common.TaskReport, answers.write_task_report, answers.read_task_report
    ),
    ObjectReport: _alone(
        schema.common.ObjectReport, answers.write_object_report, answers.read_object_report
    ),
    GovernorReport: _alone(
        schema.common.GovernorReport,
        answers.write_governor_report,
        answers.read_governor_report,
    ),
}


def to_bytes(value: object) -> bytes:
    """The encoded form of a value, as long as it is on the wire."""
    return check_size(type(value).__name__, _WAYS[type(value)].encode(value))


def from_bytes(kind: type[V], encoded: bytes) -> V:
    """The value that was encoded, read as strictly as from a peer."""
    value: V = _WAYS[kind].decode(encoded)
    return value


def through_the_wire(value: V) -> V:
    """Encodes a value, and decodes it again; lists and tuples part by part.

    The bytes of a fetched object are a field of their own, so only its report is encoded.
    """
    if isinstance(value, list | tuple):
        parts: Any = value
        arrived: V = type(parts)(through_the_wire(part) for part in parts)
        return arrived
    if isinstance(value, Fetched):
        return evolve(value, report=through_the_wire(value.report))
    if value is None or isinstance(value, int):
        return value
    return from_bytes(type(value), to_bytes(value))
