"""Cap'n Proto's RPC protocol: one side of one connection, without a socket, a loop or a clock.

A `Peer` is given the bytes that come, and says those that leave. It is driven by a trio task in the
daemons (`rain.rpc.link`) and by a thread in clients (`rain.rpc.caller`).

How a call travels. The caller sends `call`: a number that it chose (the question), an object of the
other side (the target), the method, and the parameters. The other side looks up the object, reads
the parameters, and calls the handler, which answers now or later. The answer travels as `return`
with the number of the question. A caller that does not want the answer any more sends `finish`, and
the handler is told. A return says `noFinishNeeded` unless it gives objects; then the caller sends
`finish` once it has them.

An object that may be called is an `Offered`; the other side knows it by a number (an export). What
the other side offers is a `Remote`. The first object is the bootstrap; all others come as
parameters and results. A call may name a result that has not come yet as its target (a promised
answer): it is held back until the result is there.

This is level 1 of the protocol, without promises of our own: we never send `resolve` or
`disembargo`, and answer them, like all of level 3, with `unimplemented`.

Whose fault: what the other side may not say raises `ProtocolError` out of `receive`. The driver
then says `abort` with the reason, and closes. Whatever else a handler raises is ours.

Calling (`bootstrap`, `call`, `give_up`) may happen in any thread, and in a signal handler between
any two steps of it; receiving and answering happen in one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from attrs import define, frozen

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.values import Capability
from rain.rpc.codec.border import MESSAGE_LIMIT
from rain.rpc.codec.plain import check_size
from rain.rpc.framing import Framer
from rain.rpc.interface import Fields, Method
from rain.rpc.offered import IncomingCall, Offered

MESSAGE = Layout.of(schema.rpc.Message)

OPEN_CALLS_LIMIT = 100_000
"""Calls of the other side that are not answered, or whose answers it has not finished with."""

REASON_LIMIT = 8 * 1024
"""Characters of a reason; the rest is left out."""


class CallError(Exception):
    """A call has no results: why, and of what kind that is in Cap'n Proto's words."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind  # "failed", "overloaded", "disconnected" or "unimplemented"
        self.reason = reason


OnReturn: TypeAlias = Callable[["Fields | CallError"], object]


@define(eq=False)
class Remote:
    """An object that the other side offers."""

    target: Fields


@define(eq=False)
class Question:
    """A call of ours that has not returned."""

    id: int
    method: Method | None  # None for the bootstrap
    on_return: OnReturn
    lent: tuple[int, ...] = ()  # exports in its parameters


@define(eq=False)
class _Export:
    offered: Offered
    references: int = 0


@frozen
class Request:
    """A call that is to be made, and who gets its results."""

    target: Remote
    method: Method
    params: Fields
    on_return: OnReturn


class Peer:
    """One side of a connection. `say` gets whole messages, one or several at once."""

    def __init__(
        self,
        say: Callable[[bytes], object],
        bootstrap: Offered | None = None,
        longest: int = MESSAGE_LIMIT,
    ) -> None:
        self.farewell: str | None = None  # why the other side ends the connection, if it said so
        self._say_bytes = say
        self._bootstrap = bootstrap
        self._framer = Framer(longest)
        self._numbers = count()
        self._questions: dict[int, Question] = {}
        self._answers: dict[int, IncomingCall] = {}
        self._exports: dict[int, _Export] = {}
        self._export_ids: dict[Offered, int] = {}
        self._export_numbers = count()
        self._deaf = False
        self._ended: CallError | None = None
        self._handlers: dict[str, Callable[[Fields], object]] = {
            "call": self._called,
            "return": self._returned,
            "finish": self._finished,
            "bootstrap": self._bootstrapped,
            "release": self._released,
            "abort": self._aborted,
            "unimplemented": self._misunderstood,
        }

    # What drives it.

    def allow(self, longest: int) -> None:
        """From now on the other side's messages may have so many bytes."""
        self._framer.longest = longest

    @property
    def inside_message(self) -> bool:
        """Whether the connection would end in the middle of a message."""
        return self._framer.inside_message

    @property
    def open_questions(self) -> int:
        """How many calls of ours have not returned."""
        return len(self._questions)

    def receive(self, chunk: bytes) -> None:
        """Takes bytes of the other side; raises `ProtocolError` when they break the rules."""
        for message in self._framer.feed(chunk):
            if self._deaf:
                return
            self._hear(MESSAGE.read(message))

    def stop_hearing(self) -> None:
        """Whatever else has come is not looked at."""
        self._deaf = True

    def abort(self, reason: str) -> None:
        """Tells the other side why the connection ends."""
        self._say({"abort": {"reason": _shortened(reason), "type": "failed"}})

    def end(self, reason: str) -> None:
        """The connection has ended: all calls of both sides have."""
        if self._ended is not None:
            return
        self._ended = CallError("disconnected", reason)
        for answer in list(self._answers.values()):
            answer.give_up()
        self._answers.clear()
        self._exports.clear()
        self._export_ids.clear()
        while self._questions:
            _, question = self._questions.popitem()
            question.on_return(self._ended)

    # Calling. In any thread.

    def bootstrap(self) -> Remote:
        """The first object of the other side, which may be called at once."""
        number = self._number()
        self._questions[number] = Question(number, None, _ignore)
        self._say({"bootstrap": {"questionId": number}})
        # Named as a promised answer for good, and never finished: calls of other threads may name
        # it at any time.
        return Remote({"promisedAnswer": {"questionId": number}})

    def call(
        self, target: Remote, method: Method, params: Fields, on_return: OnReturn
    ) -> Question | None:
        """Calls a method; `on_return` gets its results, or why there are none, in `receive`.

        None when the connection has ended, which `on_return` is told here and now.
        """
        return self.call_all([Request(target, method, params, on_return)])

    def call_all(self, requests: Iterable[Request]) -> Question | None:
        """Makes several calls that no other call comes between; gives the last one.

        Each message is written before any leaves: what cannot be written leaves nothing behind.
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
        self._say_bytes(messages[0] if len(messages) == 1 else b"".join(messages))
        return questions[-1]

    def give_up(self, question: Question) -> None:
        """Nobody waits for the results of this call: the other side is told, nobody else is."""
        if self._questions.get(question.id) is question:
            question.on_return = _ignore
            # The return may cross it, and then this is ignored: numbers are not used again soon.
            self._say({"finish": _finish(question.id, release=True)})

    def _asked(self, request: Request) -> tuple[bytes, Question]:
        method, params = request.method, request.params
        number = self._number()
        table: list[Fields] = []
        if method.takes:
            params, table = self._lend(params, method.takes)
        message = MESSAGE.write(
            {
                "call": {
                    "questionId": number,
                    "target": request.target.target,
                    "interfaceId": method.interface,
                    "methodId": method.number,
                    "params": {"content": method.params.within(params), "capTable": table},
                }
            }
        )
        check_size(method.name, message)
        lent = tuple(entry["senderHosted"] for entry in table)
        return message, Question(number, method, request.on_return, lent)

    def _number(self) -> int:
        """A number for a question: used again after four thousand million, if it is free then."""
        while True:
            number = next(self._numbers) & 0xFFFF_FFFF
            if number not in self._questions:
                return number

    def _lend(self, values: Fields, names: Iterable[str]) -> tuple[Fields, list[Fields]]:
        """Puts numbers in place of objects that we offer; gives the table of these."""
        values = dict(values)
        table: list[Fields] = []
        for name in names:
            offered = values.get(name)
            if offered is not None:
                values[name] = len(table)
                table.append({"senderHosted": self._export(offered)})
        return values, table

    def _export(self, offered: Offered) -> int:
        number = self._export_ids.get(offered)
        if number is None:
            number = self._export_ids[offered] = next(self._export_numbers)
            self._exports[number] = _Export(offered)
        self._exports[number].references += 1
        return number

    # Receiving, and answering. In one thread.

    def _hear(self, message: Fields) -> None:
        ((kind, body),) = message.items()
        handle = self._handlers.get(kind)
        if handle is None:
            self._say({"unimplemented": {kind: body}})
        else:
            handle(body)

    def _called(self, call: Fields) -> None:
        if "caller" not in call["sendResultsTo"]:
            raise ProtocolError("results are sent to the caller only")
        answer = self._begin(call["questionId"])
        target = call["target"]
        if "importedCap" in target:
            export = self._exports.get(target["importedCap"])
            if export is None:
                raise ProtocolError("a call of an object that was not offered")
            self._serve(export.offered, call, answer)
        else:
            self._serve_promised(target["promisedAnswer"], call, answer)

    def _begin(self, number: int) -> IncomingCall:
        if number in self._answers:
            raise ProtocolError(f"the question {number} is asked twice")
        if len(self._answers) >= OPEN_CALLS_LIMIT:
            raise ProtocolError(f"more than {OPEN_CALLS_LIMIT} calls are open at once")
        answer = self._answers[number] = IncomingCall(self, number)
        return answer

    def _serve_promised(self, promised: Fields, call: Fields, answer: IncomingCall) -> None:
        """Serves a call of an object in the results of another call, once these are there."""
        base = self._answers.get(promised["questionId"])
        if base is None:  # it may have failed, or been finished, while this call was on its way
            answer.fail("the result that was to be called is not there")
            return
        if base.is_open:
            base.held_back.append(partial(self._serve_promised, promised, call, answer))
            return
        path = [step["getPointerField"] for step in promised["transform"] if "noop" not in step]
        offered = (base.given or {}).get(path[0] if path else _WHOLE) if len(path) < 2 else None
        if offered is None:
            answer.fail("there is no object at that place of the results")
        else:
            self._serve(offered, call, answer)

    def _serve(self, offered: Offered, call: Fields, answer: IncomingCall) -> None:
        found = offered.find(call["interfaceId"], call["methodId"])
        if found is None:
            name = offered.interface.name
            answer.fail(f"{name} has no such method", "unimplemented")
            return
        method, handle = found
        answer.method = method
        try:
            handle(self._opened(call["params"], method.params, method.takes), answer)
        except ProtocolError as error:
            if answer.given is None:
                answer.fail(str(error))
            raise

    def _opened(self, payload: Fields, layout: Layout, objects: Iterable[str]) -> Fields:
        """The fields of parameters or results; their objects as `Remote`."""
        fields = layout.read_within(payload["content"])
        for name in objects:
            fields[name] = _remote(fields[name], payload["capTable"])
        return fields

    def return_results(self, call: IncomingCall, results: Fields) -> None:
        method = call.method
        if method is None:
            raise InvariantError("a call is answered before its method is known")
        given: Mapping[int, Offered] = {}
        table: list[Fields] = []
        if method.gives:
            given = {
                place: results[name]
                for name, place in method.gives.items()
                if results.get(name) is not None
            }
            results, table = self._lend(results, method.gives)
        content = method.results.within(results)
        self._return(call, {"results": {"content": content, "capTable": table}}, given)

    def return_failure(self, call: IncomingCall, reason: str, kind: str) -> None:
        self._return(call, {"exception": {"reason": _shortened(reason), "type": kind}}, {})

    def _return(self, call: IncomingCall, outcome: Fields, given: Mapping[int, Offered]) -> None:
        call.given = given
        if not given:
            del self._answers[call.id]
        fields: Fields = {"answerId": call.id, "noFinishNeeded": not given, **outcome}
        # Objects in the parameters stay ours until the connection ends.
        fields["releaseParamCaps"] = call.method is None or not call.method.takes
        self._say({"return": fields})
        held_back, call.held_back = call.held_back, []
        for serve in held_back:
            serve()

    def _finished(self, finish: Fields) -> None:
        answer = self._answers.pop(finish["questionId"], None)
        if answer is None:  # it has returned meanwhile
            return
        if answer.is_open:
            answer.give_up()
            self._say({"return": {"answerId": answer.id, "canceled": None, "noFinishNeeded": True}})
        elif finish["releaseResultCaps"]:
            for offered in (answer.given or {}).values():
                self._release(self._export_ids.get(offered), 1)

    def _bootstrapped(self, bootstrap: Fields) -> None:
        answer = self._begin(bootstrap["questionId"])
        if self._bootstrap is None:
            answer.fail("nothing is offered here")
            return
        answer.is_open = False
        table = [{"senderHosted": self._export(self._bootstrap)}]
        results = {"content": Capability(0), "capTable": table}
        self._return(answer, {"results": results}, {_WHOLE: self._bootstrap})

    def _released(self, release: Fields) -> None:
        self._release(release["id"], release["referenceCount"])

    def _release(self, number: int | None, references: int) -> None:
        export = None if number is None else self._exports.get(number)
        if export is None or export.references < references:
            raise ProtocolError("more references are released than there were")
        export.references -= references
        if not export.references:
            del self._exports[number or 0], self._export_ids[export.offered]

    def _returned(self, returned: Fields) -> None:
        number = returned["answerId"]
        question = self._questions.pop(number, None)
        if question is None:
            raise ProtocolError(f"an answer to the question {number}, which nobody has asked")
        if returned["releaseParamCaps"]:
            for lent in question.lent:
                self._release(lent, 1)
        if question.on_return is _ignore:  # it was given up, or is the bootstrap
            return
        outcome = self._outcome(question.method, returned)
        if not returned["noFinishNeeded"]:
            self._say({"finish": _finish(number, release=False)})
        question.on_return(outcome)

    def _outcome(self, method: Method | None, returned: Fields) -> Fields | CallError:
        if "results" in returned and method is not None:
            return self._opened(returned["results"], method.results, method.gives)
        if "exception" in returned:
            exception = returned["exception"]
            return CallError(exception["type"], exception["reason"])
        if "canceled" in returned:
            return CallError("failed", "the call was cancelled")
        raise ProtocolError("a call returns in a way that nobody has asked for")

    def _aborted(self, exception: Fields) -> None:
        self.farewell = exception["reason"] or "for no reason"
        self._deaf = True

    def _misunderstood(self, message: Fields | None) -> None:
        kind = next(iter(message or {"": None}))
        raise ProtocolError(f"the other side does not understand a message of the kind {kind!r}")

    def _say(self, message: Fields) -> None:
        if self._ended is None:
            self._say_bytes(MESSAGE.write(message))


_WHOLE = -1
"""The place of an object that is a whole result, as that of a bootstrap."""


def _ignore(_: object) -> None:
    """Nobody waits for this call."""


def _finish(number: int, *, release: bool) -> Fields:
    return {
        "questionId": number,
        "releaseResultCaps": release,
        "requireEarlyCancellationWorkaround": False,
    }


def _remote(place: int | None, table: list[Any]) -> Remote | None:
    """The object of a payload that has this place in its table; None if there is none."""
    if place is None:
        return None
    if not 0 <= place < len(table):
        raise ProtocolError("an object is missing")
    for kind in ("senderHosted", "senderPromise"):
        if kind in table[place]:
            return Remote({"importedCap": table[place][kind]})
    raise ProtocolError("an object that is not the sender's own")


def _shortened(reason: str) -> str:
    text = reason if len(reason) <= REASON_LIMIT else reason[:REASON_LIMIT] + " [...]"
    return text.encode("utf-8", "replace").decode()
