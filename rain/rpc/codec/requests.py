"""What clients ask for every task, and what they are answered, as plain messages."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias, assert_never

from attrs import frozen

from rain.base.errors import ProtocolError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire import Delivery, Submission, WaitAnswer
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
from rain.rpc.codec.plain import check_size, opened, packed, wrong_of_ours
from rain.rpc.codec.submission import (
    data_of,
    read_kinds,
    read_submission,
    submission_numbers,
    write_kinds,
)
from rain.rpc.codec.words import write_words

WAIT_MODES = ("all", "some", "session")

# What a request asks, in its second number.
_MORE, _LAST, _WAIT = 0, 1, 2  # a part of a submission, its last part, a wait in the first mode
_ABANDON = _WAIT + len(WAIT_MODES)

# What an answer says, in its second number.
_DONE, _WAITED, _REFUSED = 0, 1, 2

_HEADS = 2  # the request's number, and what it is
_WAIT_HEADS = 3
_WAITED_HEADS = 5

_TEXTS, _REFUSAL = fields(schema.request.Answer, "texts", "refusal")


@frozen
class SubmitPart:
    """A part of a submission; its last part stands for the whole."""

    part: Submission
    uploaded: Sequence[ObjectId]  # constants of the part whose bytes went ahead
    last: bool
    wanted: Sequence[ObjectId] = ()  # if any, it is answered as a wait for all of these


@frozen
class Wait:
    """Answered when the wait is over."""

    session: SessionId
    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]
    mode: str


@frozen
class Abandon:
    """Nobody waits for the answer to this number any more."""


Request: TypeAlias = SubmitPart | Wait | Abandon
Answer: TypeAlias = WaitAnswer | None
Refused: TypeAlias = RefusedError | SessionFailedError


def write_request(number: int, request: Request) -> bytes:
    match request:
        case SubmitPart(part, uploaded, last, wanted):
            return _write_part(number, part, uploaded, last, wanted)
        case Wait(session, tasks, objects, mode):
            asked = _WAIT + WAIT_MODES.index(mode)
            numbers = [number, asked, session, len(tasks), len(objects), *tasks, *objects]
        case Abandon():
            numbers = [number, _ABANDON]
        case _:
            assert_never(request)
    return write_words(write_numbers(numbers), ())


def _write_part(
    number: int,
    part: Submission,
    uploaded: Sequence[ObjectId],
    last: bool,
    wanted: Sequence[ObjectId],
) -> bytes:
    asked = _LAST if last else _MORE
    numbers = write_numbers([number, asked, *submission_numbers(part, uploaded, wanted)])
    data = part.tasks.configs
    if part.constants.ids:
        data = [*data, *data_of(part.constants, uploaded)]
    if part.task_kinds or part.object_kinds:
        write = partial(write_kinds, part)
        content = packed(schema.request.Request, numbers, data, write)
    else:
        content = write_words(numbers, data)
    return check_size("a part of the submission", content)


def read_request(content: bytes) -> tuple[int, Request]:
    numbers, data, start, end, kinds = opened(
        "a request", schema.request.Request, content, read_kinds
    )
    if len(numbers) < _HEADS:
        raise no_lengths("a request")
    number, asked = numbers[:_HEADS]
    if _MORE <= asked <= _LAST:
        part, uploaded, wanted = read_submission(numbers, _HEADS, data, start, end, kinds)
        return number, SubmitPart(part, uploaded, asked == _LAST, wanted)
    if _WAIT <= asked < _ABANDON:
        return number, _read_wait(numbers, WAIT_MODES[asked - _WAIT])
    if asked == _ABANDON:
        return number, Abandon()
    raise ProtocolError(f"a request: nobody can ask for number {asked}")


def _read_wait(numbers: list[Any], mode: str) -> Wait:
    start = _HEADS + _WAIT_HEADS
    if len(numbers) < start:
        raise no_lengths("a wait")
    session, tasks, objects = numbers[_HEADS:start]
    named = cut_columns("a wait", numbers, start, (tasks, objects))
    return Wait(session, named[0], named[1], mode)


def write_done(number: int, value: None) -> bytes:
    return write_words(write_numbers([number, _DONE]), ())


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
    numbers, data, start, end, rest = opened(
        "an answer", schema.request.Answer, content, _read_rest
    )
    if len(numbers) < _HEADS:
        raise no_lengths("an answer")
    number, said = numbers[:_HEADS]
    texts, refusal = rest or ([], "")
    if said == _WAITED:
        return number, _read_waited(numbers, data, start, end, texts)
    if said == _DONE:
        return number, None
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
