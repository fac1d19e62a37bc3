"""What clients ask for every task, and what they are answered, as plain messages."""

from collections.abc import Sequence
from typing import TypeAlias

from attrs import frozen

from rain.base.errors import ProtocolError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire import Submission, WaitAnswer
from rain.rpc import schema
from rain.rpc.codec.answers import (
    read_refusal,
    read_wait_answer,
    write_refusal,
    write_wait_answer,
)
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import fields, read_numbers, write_numbers
from rain.rpc.codec.plain import check_size, packed, unpacked
from rain.rpc.codec.submission import read_submission, read_uploaded, write_submission

WAIT_MODES = ("all", "some", "session")  # in the order of the schema's numbers

_NUMBER, _MORE, _WANTED, _SUBMIT, _WAIT = fields(
    schema.request.Request, "number", "more", "wanted", "submit", "wait"
)
_SESSION, _TASKS, _OBJECTS, _MODE = fields(
    schema.request.Request.Wait, "session", "tasks", "objects", "mode"
)
_ANSWER_NUMBER, _WAITED, _REFUSAL = fields(schema.request.Answer, "number", "waited", "refusal")


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
    if not isinstance(request, SubmitPart):
        return packed(schema.request.Request, _write_question, (number, request))
    tasks, constants = request.part.tasks, request.part.constants
    rows = len(tasks.ids) + len(constants.ids)
    content = packed(
        schema.request.Request,
        _write_part,
        (number, request),
        rows,
        tasks.configs,
        constants.data,
    )
    return check_size("a part of the submission", content)


def _write_part(builder: Builder, numbered: tuple[int, SubmitPart]) -> None:
    number, request = numbered
    builder.number = number
    if not request.last:
        builder.more = True
    if request.wanted:
        builder.wanted = write_numbers(request.wanted)
    write_submission(builder._init_by_field(_SUBMIT), request.part, request.uploaded)


def _write_question(builder: Builder, numbered: tuple[int, Wait | Abandon]) -> None:
    number, request = numbered
    builder.number = number
    if isinstance(request, Abandon):
        builder.abandon = None
        return
    wait = builder._init_by_field(_WAIT)
    wait.session = request.session
    if request.tasks:
        wait.tasks = write_numbers(request.tasks)
    if request.objects:
        wait.objects = write_numbers(request.objects)
    wait.mode = request.mode


def read_request(content: bytes) -> tuple[int, Request]:
    return unpacked("a request", schema.request.Request, content, _read_request)


def _read_request(message: Reader) -> tuple[int, Request]:
    get = message._get_by_field
    match message._which_str():
        case "submit":
            part = get(_SUBMIT)
            request: Request = SubmitPart(
                read_submission(part),
                read_uploaded(part),
                not get(_MORE),
                read_numbers(get(_WANTED)),
            )
        case "wait":
            request = _read_wait(get(_WAIT))
        case _:
            request = Abandon()
    return get(_NUMBER), request


def _read_wait(reader: Reader) -> Wait:
    get = reader._get_by_field
    mode: int = get(_MODE).raw
    if mode >= len(WAIT_MODES):
        raise ProtocolError(f"wait: there is no mode number {mode}")
    return Wait(
        get(_SESSION),
        read_numbers(get(_TASKS)),
        read_numbers(get(_OBJECTS)),
        WAIT_MODES[mode],
    )


def write_done(number: int, value: None) -> bytes:
    return packed(schema.request.Answer, _write_done, number)


def _write_done(builder: Builder, number: int) -> None:
    builder.number = number
    builder.done = None


def write_waited(number: int, answer: WaitAnswer) -> bytes:
    data = answer.delivery.data
    return packed(schema.request.Answer, _write_waited, (number, answer), len(data), data)


def _write_waited(builder: Builder, numbered: tuple[int, WaitAnswer]) -> None:
    number, answer = numbered
    builder.number = number
    write_wait_answer(builder._init_by_field(_WAITED), answer)


def write_refused(number: int, reason: str | SessionFailure) -> bytes:
    return packed(schema.request.Answer, _write_refused, (number, reason))


def _write_refused(builder: Builder, numbered: tuple[int, str | SessionFailure]) -> None:
    number, reason = numbered
    builder.number = number
    write_refusal(builder._init_by_field(_REFUSAL), reason)


def read_answer(content: bytes) -> tuple[int, Answer | Refused]:
    return unpacked("an answer", schema.request.Answer, content, _read_answer)


def _read_answer(message: Reader) -> tuple[int, Answer | Refused]:
    get = message._get_by_field
    number: int = get(_ANSWER_NUMBER)
    match message._which_str():
        case "waited":
            return number, read_wait_answer(get(_WAITED))
        case "refusal":
            refusal = read_refusal(get(_REFUSAL))
            if isinstance(refusal, str):
                return number, RefusedError(refusal)
            return number, SessionFailedError(refusal)
        case _:
            return number, None
