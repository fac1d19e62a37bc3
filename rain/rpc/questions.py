"""Keeps track of the calls that one side of a connection has made, until they return. Pure.

All but `returned` and `end` may happen in any thread, and in a signal handler between any two
steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TypeAlias

from attrs import Factory, define

from rain.base.errors import ProtocolError
from rain.rpc.capnproto.messages import check_size
from rain.rpc.interface import Fields, Method
from rain.rpc.offered import Exports, RemoteCapability, opened
from rain.rpc.protocol import MESSAGE, Outlet


class CallError(Exception):
    """A call has failed: the reason, and its exception type in Cap'n Proto."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind  # "failed", "overloaded", "disconnected", "unimplemented" or "cancelled"
        self.reason = reason


_LAST_NUMBER = 0xFFFF_FFFF

OnReturn: TypeAlias = Callable[["Fields | CallError"], object]


@define(eq=False)
class Question:
    """A call that is to be made, or has not returned."""

    id: int
    method: Method | None  # None for the bootstrap
    on_return: OnReturn
    message: bytes = b""
    lent: tuple[int, ...] = ()  # numbers of the objects in its parameters
    is_given_up: bool = False
    handed: list[object] = Factory(list)
    """Has one entry from the step on that hands the message over to what sends it."""
    content: bytes = b""
    """The message of a call that can be made again over another connection,"""
    others: tuple[Question, ...] = ()
    """and the questions of calls that are in the same message, before it."""
    ahead: Callable[[], object] | None = None
    """Called before it is sent: it uploads data over another connection."""

    def end(self, outcome: Fields | CallError) -> None:
        """Tells what came of it, once.

        The receiver often refers to this question. So the question drops its reference to the
        receiver: otherwise both, and the data that goes ahead, would stay until garbage is
        collected.
        """
        on_return, self.on_return = self.on_return, _ignore
        on_return(outcome)


class Questions:
    """The questions of one side by their numbers."""

    def __init__(self, outlet: Outlet, exports: Exports) -> None:
        self._outlet = outlet
        self._exports = exports
        self._numbers = count()
        self._questions: dict[int, Question] = {}
        self._ended: CallError | None = None
        self._settled: list[int] | None = None

    def __len__(self) -> int:
        return len(self._questions)

    def bootstrap(self) -> RemoteCapability:
        """The first object of the other side, which may be called at once."""
        number = next(self._numbers)
        self._questions[number] = Question(number, None, _ignore)
        self._outlet.say({"bootstrap": {"questionId": number}})
        # Named as a promised answer for good, and never finished: calls of other threads may name
        # it at any time.
        return RemoteCapability({"promisedAnswer": {"questionId": number}})

    def write(
        self, target: RemoteCapability, method: Method, params: Fields, on_return: OnReturn
    ) -> Question:
        """A call that is made later (`say`), or never; nothing is left if it cannot be written."""
        number = next(self._numbers) & _LAST_NUMBER
        while number in self._questions:  # of a call four thousand million calls ago
            number = next(self._numbers) & _LAST_NUMBER
        table: list[Fields] = []
        if method.takes:
            params, table = self._exports.lend_all(params, method.takes)
        call: Fields = {
            "questionId": number,
            "target": target.target,
            "interfaceId": method.interface,
            "methodId": method.number,
            "params": {"content": (method.params, params), "capTable": table},
        }
        message = check_size(method.name, MESSAGE.write({"call": call}))
        lent = tuple([entry["senderHosted"] for entry in table]) if table else ()
        return Question(number, method, on_return, message, lent)

    def say(self, calls: Sequence[Question], *, again: bool = True) -> None:
        """Makes calls that were written; no other call comes between them.

        If the connection has ended, each of these calls gets this as its result at once. Calls end
        with the connection, unless they are to be made `again` over another one.
        """
        last = calls[-1]
        try:
            for call in calls:
                self._questions[call.id] = call
            if self._ended is not None:  # before the line above: nothing else tells them
                for call in calls:
                    if self._questions.pop(call.id, None) is not None:
                        call.end(self._ended)
                return
            content = last.message if len(calls) == 1 else b"".join(c.message for c in calls)
            if again and self._settled is not None:
                last.content = content
                last.others = tuple(calls[:-1])
            # No signal is handled inside, if that is a function of C: either nothing was handed
            # over, or it is noted.
            last.handed.extend(map(self._outlet.hand, (content,)))
        except BaseException:  # an interruption
            if not last.handed:
                for call in calls:
                    self._questions.pop(call.id, None)
            raise
        self._outlet.flush()

    def is_open(self, question: Question) -> bool:
        """Whether a call was made and has not returned."""
        return self._questions.get(question.id) is question

    def give_up(self, question: Question) -> None:
        """The results of this call are not wanted any more: the other side is told.

        The call still returns: with its results if they were already sent, otherwise as cancelled.
        """
        if self.is_open(question) and not question.is_given_up:
            question.is_given_up = True
            # The return may cross it, and then this is ignored: numbers are not used again soon.
            self._finish(question.id, release=True)

    def returned(self, returned: Fields) -> None:
        """The other side has answered."""
        number = returned["answerId"]
        question = self._questions.get(number)
        if question is None:
            raise ProtocolError(f"an answer to the question {number}, which nobody has asked")
        if returned["releaseParamCaps"]:
            for lent in question.lent:
                self._exports.release(lent, 1)
        if question.method is None:  # the bootstrap
            del self._questions[number]
            return
        outcome = _outcome(question.method, returned)  # if that fails, the caller hears of the end
        del self._questions[number]
        if question.content and self._settled is not None:
            self._settled.append(number)
        if not returned["noFinishNeeded"] and not question.is_given_up:
            self._finish(number, release=False)
        question.end(outcome)

    # Going on over another connection.

    def keep(self) -> None:
        """From now on calls can be made again over another connection, until they have returned."""
        self._settled = []

    def take_settled(self) -> list[int]:
        """The numbers of the calls that have returned since the last time."""
        settled, self._settled = self._settled or [], []
        return settled

    def put_back_settled(self, numbers: Iterable[int]) -> None:
        """These numbers were not sent after all, so they are kept for the next time."""
        if self._settled is not None:
            self._settled.extend(numbers)

    def send_ahead(self) -> None:
        """Does what goes ahead of the calls that are to be made again over another connection."""
        for question in list(self._questions.values()):
            if question.ahead is not None and not question.is_given_up:
                question.ahead()

    def make_again(self, said: deque[bytes]) -> None:
        """Puts all calls that have to be made again before all other messages. The other calls have
        ended, and are not sent.
        """
        again = [question.content for question in self._to_make_again()]
        made = {id(content) for content in again}
        unsent: list[bytes] = []
        while said:
            unsent.append(said.popleft())
        open_now = {id(question.content) for question in list(self._questions.values())}
        again += [one for one in unsent if id(one) in open_now and id(one) not in made]
        said.extendleft(reversed(again))

    def _to_make_again(self) -> list[Question]:
        """The calls that were made and are to be made again, in their order; others end."""
        again: list[Question] = []
        for question in [one for one in list(self._questions.values()) if one.handed]:
            if question.content and not question.is_given_up:
                self._questions.update((other.id, other) for other in question.others)
                again.append(question)
                continue
            self._questions.pop(question.id, None)
            if question.content:
                self.put_back_settled([question.id])
                question.end(CallError("cancelled", "it was given up"))
            else:
                question.end(CallError("disconnected", "the connection was lost"))
        return again

    def end(self, reason: str) -> None:
        """The connection has ended: nothing returns any more."""
        self._ended = CallError("disconnected", reason)
        while self._questions:
            _, question = self._questions.popitem()
            question.end(self._ended)

    def _finish(self, number: int, *, release: bool) -> None:
        finish = {
            "questionId": number,
            "releaseResultCaps": release,
            "requireEarlyCancellationWorkaround": False,
        }
        self._outlet.say({"finish": finish})


def _outcome(method: Method | None, returned: Fields) -> Fields | CallError:
    if "results" in returned and method is not None:
        return opened(returned["results"], method.results, method.gives)
    if "exception" in returned:
        exception = returned["exception"]
        return CallError(exception["type"], exception["reason"])
    if "canceled" in returned:
        return CallError("cancelled", "it was given up")
    raise ProtocolError("a call returns in a way that nobody has asked for")


def _ignore(_: object) -> None:
    """No thread waits for this call."""
