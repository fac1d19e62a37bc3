"""Serves the calls of the other side of a connection, until that has their answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.capnproto.writing import Capability
from rain.rpc.interface import Fields
from rain.rpc.offered import Exports, IncomingCall, Offered, opened
from rain.rpc.protocol import Outlet, shortened

TOGETHER = 16
"""This many answers that nobody waits for are sent together: each is a message to write and read,
mostly while the caller waits for another one.
"""

OPEN_CALLS_LIMIT = 100_000
"""Calls of the other side that are not answered, or whose answers it has not finished with."""

_WHOLE = -1
"""The place of an object that is a whole result, as that of a bootstrap."""


Say: TypeAlias = Callable[[Fields], object]


class Serving:
    """The calls by their numbers."""

    def __init__(self, outlet: Outlet, exports: Exports, bootstrap: Offered | None) -> None:
        self._outlet = outlet
        self._exports = exports
        self._bootstrap = bootstrap
        self._answers: dict[int, IncomingCall] = {}
        self._acknowledged: list[tuple[IncomingCall, Fields]] = []  # and not answered yet

    def called(self, call: Fields) -> None:
        """A call of an object, or of a result that may not be there yet."""
        if "caller" not in call["sendResultsTo"]:
            raise ProtocolError("results are sent to the caller only")
        answer = self._begin(call["questionId"])
        target = call["target"]
        if "importedCap" in target:
            self._serve(self._exports.find(target["importedCap"]), call, answer)
        else:
            self._serve_promised(target["promisedAnswer"], call, answer)

    def bootstrapped(self, bootstrap: Fields) -> None:
        """The other side asks for the first object."""
        answer = self._begin(bootstrap["questionId"])
        if self._bootstrap is None:
            answer.fail("nothing is offered here")
            return
        answer.is_open = False
        results = {"content": Capability(0), "capTable": [self._exports.lend(self._bootstrap)]}
        self._return(answer, {"results": results}, {_WHOLE: self._bootstrap}, self._outlet.say)

    def finished(self, finish: Fields) -> None:
        """The other side is done with an answer, or does not wait for it any more."""
        answer = self._answers.get(finish["questionId"])
        if answer is None or answer.is_acknowledged:  # it has returned meanwhile, or will
            return
        del self._answers[answer.id]
        if answer.is_open:
            answer.give_up()
            cancelled = {"answerId": answer.id, "canceled": None, "noFinishNeeded": True}
            self._outlet.say({"return": cancelled})
            _serve_held_back(answer)  # these fail: what they call will not come
        elif finish["releaseResultCaps"]:
            for offered in (answer.given or {}).values():
                self._exports.release_one(offered)

    def end(self) -> None:
        """The connection has ended: nothing is waited for any more."""
        for answer in list(self._answers.values()):
            answer.give_up()
        self._answers.clear()
        self._acknowledged.clear()
        self._bootstrap = None

    def acknowledge(self, call: IncomingCall, results: Fields) -> None:
        """Answers a call together with others, and with what is said next."""
        self._acknowledged.append((call, results))
        if len(self._acknowledged) >= TOGETHER:
            together, self._acknowledged = self._acknowledged, []
            for acknowledged, its_results in together:
                acknowledged.is_acknowledged = False
                self.return_results(acknowledged, its_results, self._outlet.say_later)

    def return_results(self, call: IncomingCall, results: Fields, say: Say | None = None) -> None:
        """Answers a call."""
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
            results, table = self._exports.lend_all(results, method.gives)
        content = (method.results, results)
        outcome = {"results": {"content": content, "capTable": table}}
        self._return(call, outcome, given, say or self._outlet.say)

    def return_failure(self, call: IncomingCall, reason: str, kind: str) -> None:
        """Answers a call with an exception."""
        outcome = {"exception": {"reason": shortened(reason), "type": kind}}
        self._return(call, outcome, {}, self._outlet.say)

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
            handle(opened(call["params"], method.params, method.takes), answer)
        except ProtocolError as error:
            if answer.given is None:
                answer.fail(str(error))
            raise

    def _return(
        self, call: IncomingCall, outcome: Fields, given: Mapping[int, Offered], say: Say
    ) -> None:
        call.given = given
        if not given:
            del self._answers[call.id]
        fields: Fields = {"answerId": call.id, "noFinishNeeded": not given, **outcome}
        # Objects in the parameters stay ours until the connection ends.
        fields["releaseParamCaps"] = call.method is None or not call.method.takes
        say({"return": fields})
        _serve_held_back(call)


def _serve_held_back(call: IncomingCall) -> None:
    held_back, call.held_back = call.held_back, []
    for serve in held_back:
        serve()
