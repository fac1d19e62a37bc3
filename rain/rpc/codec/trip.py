"""Encodes and decodes a value, for tests in which every message shall really be encoded.

The result of `through_the_wire` equals its argument, except that text for people has lost the
characters that UTF-8 cannot encode. A value that could not be sent or read fails here as it would
in production.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from rain.base.failures import SessionFailure
from rain.base.wire.answers import Fetched, GovernorReport, ObjectReport, TaskReport, WaitAnswer
from rain.base.wire.orders import Orders
from rain.base.wire.submission import Submission
from rain.base.wire.update import Update
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.messages import check_size
from rain.rpc.codec import answers, orders, requests, submission, update
from rain.rpc.codec.border import fault_of_sender
from rain.rpc.interface import Fields

V = TypeVar("V")

_SERVICE = schema.client.ClientService.schema.methods


class _Way(NamedTuple):
    """How one type of value travels: the struct that holds it, and its fields."""

    layout: Layout
    write: Callable[[Any], Fields]
    read: Callable[[Fields], Any]


def _submit(whole: Submission) -> Fields:
    return submission.write_submit(submission.SubmitPart(whole, (), last=True))


def _submitted(fields: Fields) -> Submission:
    return submission.read_submit(fields).part


_REFUSAL = _Way(Layout.of(schema.common.Refusal), answers.write_refusal, answers.read_refusal)

_WAYS: dict[type, _Way] = {
    Submission: _Way(Layout.of(schema.client.Submission), _submit, _submitted),
    Orders: _Way(Layout.of(schema.governor.Orders), orders.write_orders, orders.read_orders),
    Update: _Way(Layout.of(schema.governor.Update), update.write_update, update.read_update),
    WaitAnswer: _Way(
        Layout.of(_SERVICE["wait"].result_type),
        requests.write_wait_answer,
        requests.read_wait_answer,
    ),
    str: _REFUSAL,
    SessionFailure: _REFUSAL,
    Fetched: _Way(
        Layout.of(_SERVICE["fetch"].result_type), answers.write_fetched, answers.read_fetched
    ),
    TaskReport: _Way(
        Layout.of(schema.client.TaskReport), answers.write_task_report, answers.read_task_report
    ),
    ObjectReport: _Way(
        Layout.of(schema.client.ObjectReport),
        answers.OBJECT_REPORT.write,
        answers.OBJECT_REPORT.read,
    ),
    GovernorReport: _Way(
        Layout.of(schema.common.GovernorReport),
        answers.write_governor_report,
        answers.read_governor_report,
    ),
}


def to_bytes(value: object) -> bytes:
    """The encoded form of a value, about as long as it is on the wire."""
    way = _WAYS[type(value)]
    return check_size(type(value).__name__, way.layout.write(way.write(value)))


def from_bytes(kind: type[V], encoded: bytes) -> V:
    """The value that was encoded, read as strictly as from a peer."""
    way = _WAYS[kind]
    try:
        value: V = way.read(way.layout.read(encoded))
    except ValueError as error:
        raise fault_of_sender(kind.__name__, error) from error
    return value


def through_the_wire(value: V) -> V:
    """Encodes a value, and decodes it again; lists and tuples part by part."""
    if isinstance(value, list | tuple):
        parts: Any = value
        arrived: V = type(parts)(through_the_wire(part) for part in parts)
        return arrived
    if value is None or isinstance(value, int):
        return value
    return from_bytes(type(value), to_bytes(value))
