"""What clients ask for every task and every session, as plain messages."""

from collections.abc import Sequence
from typing import Any, TypeAlias, assert_never

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire import Submission
from rain.rpc import schema
from rain.rpc.codec.border import Reader
from rain.rpc.codec.columns import cut_bytes, cut_columns, no_lengths, write_numbers
from rain.rpc.codec.failures import on_failure_number, read_on_failure
from rain.rpc.codec.kinds import write_kinds
from rain.rpc.codec.plain import check_size, opened
from rain.rpc.codec.submission import data_of, read_submission, submission_numbers
from rain.rpc.codec.words import write_words

WAIT_MODES = ("all", "some", "session", "news", "glance")

# What a request asks, in its second number.
_MORE, _LAST, _WAIT = 0, 1, 2  # a part of a submission, its last part, a wait in the first mode
_ABANDON = _WAIT + len(WAIT_MODES)
_OPEN, _CLOSE, _UNKEEP = _ABANDON + 1, _ABANDON + 2, _ABANDON + 3
_CANCEL, _LAST_ALONE = _UNKEEP + 1, _UNKEEP + 2  # the last part of one whose tasks fail alone

_GONE = _LAST_ALONE + 1

_HEADS = 2  # the request's number, and what it is
_WAIT_HEADS = 4
_OPEN_HEADS = 3
_CANCEL_HEADS = 4
_GONE_HEADS = 2


@frozen
class SubmitPart:
    """A part of a submission; its last part stands for the whole."""

    part: Submission
    uploaded: Sequence[ObjectId]  # constants of the part whose bytes went ahead
    last: bool  # that it fails alone is said with it
    wanted: Sequence[ObjectId] = ()  # if any, it is answered as a wait for all of these


@frozen
class Wait:
    """Answered when the wait is over."""

    session: SessionId
    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]
    mode: str
    since: int = 0  # in the modes "news" and "glance": how many done tasks were told before


@frozen
class Abandon:
    """Nobody waits for the answer to this number any more."""


@frozen
class Cancel:
    """Nobody wants these any more, or nothing of the session. Never answered."""

    session: SessionId
    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]
    whole: bool


@frozen
class HandlesGone:
    """The client has no handles of these any more. Never answered."""

    tasks: Sequence[TaskId]
    objects: Sequence[ObjectId]


@frozen
class OpenSession:
    """Answered with the new session."""

    name: str
    user: str
    on_failure: OnFailure


@frozen
class CloseSession:
    """Never answered."""

    session: SessionId


@frozen
class Unkeep:
    """Objects of one session that nobody wants to keep any more."""

    objects: Sequence[ObjectId]


Request: TypeAlias = (
    SubmitPart | Wait | Abandon | Cancel | OpenSession | CloseSession | Unkeep | HandlesGone
)


def write_request(number: int, request: Request) -> bytes:
    match request:
        case SubmitPart(part, uploaded, last, wanted):
            return _write_part(number, part, uploaded, last, wanted)
        case Wait(session, tasks, objects, mode, since):
            asked = _WAIT + WAIT_MODES.index(mode)
            lengths = len(tasks), len(objects)
            numbers = [number, asked, session, since, *lengths, *tasks, *objects]
        case Abandon():
            numbers = [number, _ABANDON]
        case Cancel(session, tasks, objects, whole):
            heads = [session, int(whole), len(tasks), len(objects)]
            numbers = [number, _CANCEL, *heads, *tasks, *objects]
        case OpenSession():
            return _write_open(number, request)
        case CloseSession(session):
            numbers = [number, _CLOSE, session]
        case Unkeep(objects):
            numbers = [number, _UNKEEP, *objects]
        case HandlesGone(tasks, objects):
            numbers = [number, _GONE, len(tasks), len(objects), *tasks, *objects]
        case _:
            assert_never(request)
    return check_size("a request", write_words(write_numbers(numbers), ()))


def _write_open(number: int, request: OpenSession) -> bytes:
    texts = [text.encode("utf-8", "replace") for text in (request.name, request.user)]
    choice = on_failure_number(request.on_failure)
    numbers = [number, _OPEN, choice, *map(len, texts)]
    return check_size("a request", write_words(write_numbers(numbers), texts))


def _write_part(
    number: int,
    part: Submission,
    uploaded: Sequence[ObjectId],
    last: bool,
    wanted: Sequence[ObjectId],
) -> bytes:
    asked = _MORE
    if last:
        asked = _LAST_ALONE if part.fails_alone else _LAST
    numbers = [number, asked, *submission_numbers(part, uploaded, wanted)]
    data = part.tasks.configs
    if part.constants.ids:
        data = [*data, *data_of(part.constants, uploaded)]
    if part.task_kinds or part.object_kinds:
        about_kinds, kinds = write_kinds(part.task_kinds, part.object_kinds)
        numbers += about_kinds
        data = [*data, *kinds]
    return check_size("a part of the submission", write_words(write_numbers(numbers), data))


def read_request(content: bytes) -> tuple[int, Request]:
    raw, data, start, end, _ = opened("a request", schema.request.Request, content, _read_rest)
    if len(raw) < _HEADS:
        raise no_lengths("a request")
    number: int = raw[0]
    asked: int = raw[1]
    if _MORE <= asked <= _LAST or asked == _LAST_ALONE:
        part, uploaded, wanted = read_submission(raw, _HEADS, data, start, end)
        part.fails_alone = asked == _LAST_ALONE
        return number, SubmitPart(part, uploaded, asked != _MORE, wanted)
    numbers = raw.tolist()
    if _WAIT <= asked < _ABANDON:
        return number, _read_wait(numbers, WAIT_MODES[asked - _WAIT])
    if asked == _ABANDON:
        return number, Abandon()
    if asked == _OPEN:
        return number, _read_open(numbers, data, start, end)
    if asked == _CLOSE:
        if len(numbers) <= _HEADS:
            raise no_lengths("the end of a session")
        return number, CloseSession(SessionId(numbers[_HEADS]))
    if asked == _CANCEL:
        return number, _read_cancel(numbers)
    if asked == _GONE:
        return number, _read_gone(numbers)
    if asked == _UNKEEP:
        return number, Unkeep([ObjectId(one) for one in numbers[_HEADS:]])
    raise ProtocolError(f"a request: nobody can ask for number {asked}")


def _read_rest(reader: Reader) -> None:
    """There is none: requests are numbers and data."""


def _read_wait(numbers: list[Any], mode: str) -> Wait:
    start = _HEADS + _WAIT_HEADS
    if len(numbers) < start:
        raise no_lengths("a wait")
    session, since, tasks, objects = numbers[_HEADS:start]
    if since < 0:
        raise ProtocolError(f"a wait: {since} tasks cannot have been told before")
    named = cut_columns("a wait", numbers, start, (tasks, objects))
    return Wait(session, named[0], named[1], mode, since)


def _read_cancel(numbers: list[Any]) -> Cancel:
    start = _HEADS + _CANCEL_HEADS
    if len(numbers) < start:
        raise no_lengths("what is cancelled")
    session, whole, tasks, objects = numbers[_HEADS:start]
    named = cut_columns("what is cancelled", numbers, start, (tasks, objects))
    return Cancel(session, named[0], named[1], bool(whole))


def _read_gone(numbers: list[Any]) -> HandlesGone:
    start = _HEADS + _GONE_HEADS
    if len(numbers) < start:
        raise no_lengths("handles that have gone")
    tasks, objects = cut_columns("handles that have gone", numbers, start, numbers[_HEADS:start])
    return HandlesGone(tasks, objects)


def _read_open(numbers: list[Any], content: bytes, start: int, end: int) -> OpenSession:
    first = _HEADS + _OPEN_HEADS
    if len(numbers) < first:
        raise no_lengths("a new session")
    choice, *lengths = numbers[_HEADS:first]
    try:
        on_failure = read_on_failure(choice)
        texts = [text.decode() for text in cut_bytes("a new session", content, start, end, lengths)]
    except ValueError as error:
        raise ProtocolError(f"a new session: {error}") from error
    return OpenSession(texts[0], texts[1], on_failure)
