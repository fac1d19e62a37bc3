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
from rain.rpc.codec.border import Reader, check_length
from rain.rpc.codec.plain import packed, unpacked
from rain.rpc.codec.submission import read_submission, read_uploaded, write_submission

WAIT_MODES = ("all", "some", "session")  # in the order of the schema's numbers


@frozen
class SubmitPart:
    """A part of a submission; its last part stands for the whole."""

    part: Submission
    uploaded: Sequence[ObjectId]  # constants of the part whose bytes went ahead
    last: bool
    quiet: bool = False  # only a refusal is answered


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
    message = schema.request.Request.new_message()
    message.number = number
    match request:
        case SubmitPart(part, uploaded, last, quiet):
            submit = message.init("submit")
            write_submission(submit.init("part"), part, uploaded)
            submit.last = last
            submit.quiet = quiet
            check_length("a part of the submission", message)
        case Wait(session, tasks, objects, mode):
            wait = message.init("wait")
            wait.session = session
            wait.tasks = list(tasks)
            wait.objects = list(objects)
            wait.mode = mode
        case Abandon():
            message.abandon = None
    return packed(message)


def read_request(content: bytes) -> tuple[int, Request]:
    return unpacked("a request", schema.request.Request, content, _read_request)


def _read_request(message: Reader) -> tuple[int, Request]:
    number: int = message.number
    match str(message.which()):
        case "submit":
            submit = message.submit
            part = submit.part
            return number, SubmitPart(
                read_submission(part), read_uploaded(part), submit.last, submit.quiet
            )
        case "wait":
            wait = message.wait
            mode: int = wait.mode.raw
            if mode >= len(WAIT_MODES):
                raise ProtocolError(f"wait: there is no mode number {mode}")
            tasks: list[TaskId] = list(wait.tasks)
            objects: list[ObjectId] = list(wait.objects)
            return number, Wait(SessionId(wait.session), tasks, objects, WAIT_MODES[mode])
        case _:
            return number, Abandon()


def write_done(number: int, value: None) -> bytes:
    message = schema.request.Answer.new_message()
    message.number = number
    message.done = value
    return packed(message)


def write_waited(number: int, answer: WaitAnswer) -> bytes:
    message = schema.request.Answer.new_message()
    message.number = number
    write_wait_answer(message.init("waited"), answer)
    return packed(message)


def write_refused(number: int, reason: str | SessionFailure) -> bytes:
    message = schema.request.Answer.new_message()
    message.number = number
    write_refusal(message.init("refusal"), reason)
    return packed(message)


def read_answer(content: bytes) -> tuple[int, Answer | Refused]:
    return unpacked("an answer", schema.request.Answer, content, _read_answer)


def _read_answer(message: Reader) -> tuple[int, Answer | Refused]:
    number: int = message.number
    match str(message.which()):
        case "waited":
            return number, read_wait_answer(message.waited)
        case "refusal":
            refusal = read_refusal(message.refusal)
            if isinstance(refusal, str):
                return number, RefusedError(refusal)
            return number, SessionFailedError(refusal)
        case _:
            return number, None
