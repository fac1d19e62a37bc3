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
from rain.rpc.codec import answers, orders, submission, update
from rain.rpc.codec.border import (
    NESTING_LIMIT,
    TRAVERSAL_LIMIT,
    Builder,
    Reader,
    check_length,
    reading,
)

V = TypeVar("V")


class _Way(NamedTuple):
    """How one type of value travels."""

    struct: Any
    write: Callable[[Builder, Any], None]
    read: Callable[[Reader], Any]


_WAYS: dict[type, _Way] = {
    Submission: _Way(
        schema.common.Submission, submission.write_submission, submission.read_submission
    ),
    Orders: _Way(schema.common.Orders, orders.write_orders, orders.read_orders),
    Update: _Way(schema.common.Update, update.write_update, update.read_update),
    str: _Way(schema.common.Refusal, answers.write_refusal, answers.read_refusal),
    SessionFailure: _Way(schema.common.Refusal, answers.write_refusal, answers.read_refusal),
    WaitAnswer: _Way(schema.common.WaitAnswer, answers.write_wait_answer, answers.read_wait_answer),
    TaskReport: _Way(schema.common.TaskReport, answers.write_task_report, answers.read_task_report),
    ObjectReport: _Way(
        schema.common.ObjectReport, answers.write_object_report, answers.read_object_report
    ),
    GovernorReport: _Way(
        schema.common.GovernorReport,
        answers.write_governor_report,
        answers.read_governor_report,
    ),
}


def to_bytes(value: object) -> bytes:
    """The encoded form of a value, as long as it is on the wire."""
    way = _WAYS[type(value)]
    builder = way.struct.new_message()
    way.write(builder, value)
    check_length(type(value).__name__, builder)
    encoded: bytes = builder.to_bytes()
    return encoded


def from_bytes(kind: type[V], encoded: bytes) -> V:
    """The value that was encoded, read as strictly as from a peer."""
    way = _WAYS[kind]
    with (
        reading(kind.__name__),
        way.struct.from_bytes(
            encoded, traversal_limit_in_words=TRAVERSAL_LIMIT, nesting_limit=NESTING_LIMIT
        ) as reader,
    ):
        value: V = way.read(reader)
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
