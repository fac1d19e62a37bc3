"""What clients are answered to their requests (`rain.rpc.codec.requests`), as plain messages."""

from functools import partial
from typing import Any, TypeAlias

from rain.base.errors import ProtocolError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import SessionId
from rain.base.wire import Delivery, WaitAnswer
from rain.rpc import schema
from rain.rpc.codec.answers import read_refusal, write_refusal
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import (
    cut_bytes,
    cut_columns,
    entries,
    fields,
    look_up,
    no_lengths,
    number_texts,
    write_numbers,
)
from rain.rpc.codec.plain import opened, packed, wrong_of_ours
from rain.rpc.codec.words import write_words

# What an answer says, in its second number.
_DONE, _WAITED, _REFUSED, _OPENED = 0, 1, 2, 3

_HEADS = 2  # the request's number, and what is said
_WAITED_HEADS = 5

_TEXTS, _REFUSAL = fields(schema.request.Answer, "texts", "refusal")

Answer: TypeAlias = WaitAnswer | SessionId | None
"""What a wait has found, the session that was opened, or that something is done."""

Refused: TypeAlias = RefusedError | SessionFailedError


def write_done(number: int, value: None) -> bytes:
    return write_words(write_numbers([number, _DONE]), ())


def write_opened(number: int, session: SessionId) -> bytes:
    return write_words(write_numbers([number, _OPENED, session]), ())


def write_waited(number: int, answer: WaitAnswer) -> bytes:
    delivery = answer.delivery
    tasks, objects, failed, rows = answer.tasks, answer.objects, answer.failed, len(delivery.ids)
    if not rows == len(delivery.sizes) == len(delivery.content_types) == len(delivery.data):
        raise wrong_of_ours(delivery)
    (content_types,), texts = number_texts(delivery.content_types)
    numbers = [number, _WAITED, len(tasks), len(objects), len(failed), rows, len(content_types)]
    numbers += tasks
    numbers += objects
    numbers += failed
    numbers += delivery.ids
    numbers += delivery.sizes
    numbers += map(len, delivery.data)
    numbers += content_types
    if texts:
        write = partial(_write_texts, texts)
        return packed(schema.request.Answer, write_numbers(numbers), delivery.data, write)
    return write_words(write_numbers(numbers), delivery.data)


def _write_texts(texts: list[str], builder: Builder) -> None:
    builder.texts = texts


def write_refused(number: int, reason: str | SessionFailure) -> bytes:
    write = partial(_write_reason, reason)
    return packed(schema.request.Answer, write_numbers([number, _REFUSED]), (), write)


def _write_reason(reason: str | SessionFailure, builder: Builder) -> None:
    write_refusal(builder.init("refusal"), reason)


def read_answer(content: bytes) -> tuple[int, Answer | Refused]:
    raw, data, start, end, rest = opened("an answer", schema.request.Answer, content, _read_rest)
    numbers = raw.tolist()
    if len(numbers) < _HEADS:
        raise no_lengths("an answer")
    number, said = numbers[:_HEADS]
    texts, refusal = rest or ([], "")
    if said == _WAITED:
        return number, _read_waited(numbers, data, start, end, texts)
    if said == _DONE:
        return number, None
    if said == _OPENED:
        if len(numbers) <= _HEADS:
            raise no_lengths("an answer")
        return number, SessionId(numbers[_HEADS])
    if said == _REFUSED:
        if isinstance(refusal, str):
            return number, RefusedError(refusal)
        return number, SessionFailedError(refusal)
    raise ProtocolError(f"an answer: nobody can say number {said}")


def _read_rest(reader: Reader) -> tuple[list[str], str | SessionFailure]:
    get, has = reader._get_by_field, reader._has_by_field
    return (
        entries(get(_TEXTS)) if has(_TEXTS) else [],
        read_refusal(get(_REFUSAL)) if has(_REFUSAL) else "",
    )


def _read_waited(
    numbers: list[Any], content: bytes, start: int, end: int, texts: list[str]
) -> WaitAnswer:
    first = _HEADS + _WAITED_HEADS
    if len(numbers) < first:
        raise no_lengths("an answer")
    tasks, objects, failed, rows, typed = numbers[_HEADS:first]
    lengths = (tasks, objects, failed, rows, rows, rows, typed)
    columns = cut_columns("an answer", numbers, first, lengths)
    data = cut_bytes("an answer", content, start, end, columns[5])
    content_types = look_up("an answer", columns[6], texts, rows)
    delivery = Delivery(columns[3], columns[4], content_types, data)
    return WaitAnswer(columns[0], columns[1], delivery, columns[2])
