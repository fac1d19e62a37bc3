"""The calls that one side of a connection makes, until they return. Pure.

All but `returned` and `end` may happen in any thread, and in a signal handler between any two
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import TypeAlias

from attrs import define, frozen

from rain.base.errors import ProtocolError
from rain.rpc.codec.plain import check_size
from rain.rpc.interface import Fields, Method
from rain.rpc.objects import Exports, Remote, opened
from rain.rpc.protocol import MESSAGE


class CallError(Exception):
    """A call has no results: why, and of what kind that is in Cap'n Proto's words."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind  # "failed", "overloaded", "disconnected" or "unimplemented"
        self.reason = reason


OnReturn: TypeAlias = Callable[["Fields | CallError"], object]


@define(eq=False)
class Question:
    """A call that has not returned."""

    id: int
    method: Method | None  # None for the bootstrap
    on_return: OnReturn
    lent: tuple[int, ...] = ()  # numbers of the objects in its parameters


@frozen
class Request:
    """A call that is to be made, and who gets its results."""

    target: Remote
    method: Method
    params: Fields
    on_return: OnReturn


class Calling:
    """The questions of one side by their numbers."""

    def __init__(self, say: Callable[[bytes], object], exports: Exports) -> None:
        self._say = say
        self._exports = exports
        self._numbers = count()
        self._questions: dict[int, Question] = {}
        self._ended: CallError | None = None

    def __len__(self) -> int:
        return len(self._questions)

    def bootstrap(self) -> Remote:
        """The first object of the other side, which may be called at once."""
        number = self._number()
        self._questions[number] = Question(number, None, _ignore)
        self._say(MESSAGE.write({"bootstrap": {"questionId": number}}))
        # Named as a promised answer for good, and never finished: calls of other threads may name
        # it at any time.
        return Remote({"promisedAnswer": {"questionId": number}})

    def call_all(self, requests: Iterable[Request]) -> Question | None:
        """Makes several calls that no other call comes between; gives the last one.

        Each message is written before any leaves: what cannot be written leaves nothing behind.
        None when the connection has ended, which everybody is told here and now.
        """
        messages: list[bytes] = []
        questions: list[Question] = []
        for request in requests:
            message, question = self._asked(request)
            messages.append(message)
            questions.append(question)
        for question in questions:
            self._questions[question.id] = question
        if self._ended is not None:  # if it ended before the line above, nobody else tells them
            for question in questions:
                if self._questions.pop(question.id, None) is not None:
                    question.on_return(self._ended)
            return None
        self._say(messages[0] if len(messages) == 1 else b"".join(messages))
        return questions[-1]

    def give_up(self, question: Question) -> None:
        """Nobody waits for the results of this call: the other side is told, nobody else is."""
        if self._questions.get(question.id) is question:
            question.on_return = _ignore
            # The return may cross it, and then this is ignored: numbers are not used again soon.
            self._finish(question.id, release=True)

    def returned(self, returned: Fields) -> None:
        """The other side has answered."""
        number = returned["answerId"]
        question = self._questions.pop(number, None)
        if question is None:
            raise ProtocolError(f"an answer to the question {number}, which nobody has asked")
        if returned["releaseParamCaps"]:
            for lent in question.lent:
                self._exports.release(lent, 1)
        if question.on_return is _ignore:  # it was given up, or is the bootstrap
            return
        outcome = _outcome(question.method, returned)
        if not returned["noFinishNeeded"]:
            self._finish(number, release=False)
        question.on_return(outcome)

    def end(self, reason: str) -> None:
        """The connection has ended: nothing returns any more."""
        self._ended = CallError("disconnected", reason)
        while self._questions:
            _, question = self._questions.popitem()
            question.on_return(self._ended)

    def _asked(self, request: Request) -> tuple[bytes, Question]:
        method, params = request.method, request.params
        number = self._number()
        table: list[Fields] = []
        if method.takes:
            params, table = self._exports.lend_all(params, method.takes)
        call: Fields = {
            "questionId": number,
            "target": request.target.target,
            "interfaceId": method.interface,
            "methodId": method.number,
            "params": {"content": method.params.within(params), "capTable": table},
        }
        message = check_size(method.name, MESSAGE.write({"call": call}))
        lent = tuple(entry["senderHosted"] for entry in table)
        return message, Question(number, method, request.on_return, lent)

    def _number(self) -> int:
        """A number for a question: used again after four thousand million, if it is free then."""
        while True:
            number = next(self._numbers) & 0xFFFF_FFFF
            if number not in self._questions:
                return number

    def _finish(self, number: int, *, release: bool) -> None:
        finish = {
            "questionId": number,
            "releaseResultCaps": release,
            "requireEarlyCancellationWorkaround": False,
        }
        self._say(MESSAGE.write({"finish": finish}))


def _outcome(method: Method | None, returned: Fields) -> Fields | CallError:
    if "results" in returned and method is not None:
        return opened(returned["results"], method.results, method.gives)
    if "exception" in returned:
        exception = returned["exception"]
        return CallError(exception["type"], exception["reason"])
    if "canceled" in returned:
        return CallError("failed", "the call was cancelled")
    raise ProtocolError("a call returns in a way that nobody has asked for")


def _ignore(_: object) -> None:
    """Nobody waits for this call."""
