"""Cap'n Proto's RPC protocol: one side of one connection, without a socket, a loop or a clock.

A `Peer` takes the received bytes, and produces the bytes to send. It is driven by a trio task in
the daemons (`rain.rpc.link`) and by a thread in clients (`rain.rpc.caller`).

How a call travels. The caller sends `call`: a number that it chose (the question), an object of the
other side (the target), the method, and the parameters. The other side looks up the object, reads
the parameters, and calls the handler, which answers now or later. The answer travels as `return`
with the number of the question. A caller that does not want the answer any more sends `finish`, and
the handler is notified. A return says `noFinishNeeded` unless it gives objects; then the caller
sends `finish` once it has them.

An object that may be called is an `Offered`; the other side knows it by a number (an export). What
the other side offers is a `RemoteCapability`. The first object is the bootstrap; all others come as
parameters and results. A call may name a result that has not come yet as its target (a promised
answer): it is held back until the result is there.

This is level 1 of the protocol, without promises of our own: we never send `resolve` or
`disembargo`, and answer them, like all of level 3, with `unimplemented`.

Whose fault: a message that breaks the protocol raises `ProtocolError` from `receive`. The driver
then sends `abort` with the reason, and closes. Any other exception of a handler is a bug of ours.

Calling (`bootstrap`, `call`, `questions`) may happen in any thread, and in a signal handler between
any two steps of it; receiving and answering happen in one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rain.base.errors import ProtocolError
from rain.rpc.capnproto.messages import MESSAGE_LIMIT, Framer
from rain.rpc.interface import Fields, Method
from rain.rpc.offered import Exports, Offered, RemoteCapability
from rain.rpc.protocol import MESSAGE, Outlet, echo, nothing, shortened
from rain.rpc.questions import OnReturn, Question, Questions
from rain.rpc.serving import Serving


class Peer:
    """One side of a connection.

    `say` gets whole messages, one or several at once, and may keep them until `flush` is called:
    after each one, but for those that need not leave before the next one does.
    """

    def __init__(
        self,
        say: Callable[[bytes], object],
        bootstrap: Offered | None = None,
        longest: int = MESSAGE_LIMIT,
        flush: Callable[[], object] = nothing,
    ) -> None:
        self.farewell: str | None = None  # why the other side ends the connection, if it said so
        self._outlet = Outlet(say, flush)
        self._framer = Framer(longest)
        self._exports = Exports()
        self.questions = Questions(self._outlet, self._exports)
        self._serving = Serving(self._outlet, self._exports, bootstrap)
        self._deaf = False
        self._handlers: dict[str, Callable[[Fields], object]] = {
            "call": self._serving.called,
            "return": self.questions.returned,
            "finish": self._serving.finished,
            "bootstrap": self._serving.bootstrapped,
            "release": self._released,
            "abort": self._aborted,
            "unimplemented": self._misunderstood,
        }

    # What drives it.

    def allow(self, longest: int) -> None:
        """From now on the other side's messages may be as long as this."""
        self._framer.longest = longest

    def receive(self, chunk: bytes) -> None:
        """Takes bytes of the other side; raises `ProtocolError` when they break the rules."""
        for message in self._framer.feed(chunk):
            if self._deaf:
                return
            self._hear(MESSAGE.read(message))

    def stop_hearing(self) -> None:
        """Messages that were received and not read yet are dropped."""
        self._deaf = True

    def abort(self, reason: str) -> None:
        """Tells the other side why the connection ends."""
        self._outlet.say({"abort": {"reason": shortened(reason), "type": "failed"}})

    def end(self, reason: str) -> None:
        """The connection has ended: all calls of both sides have."""
        if self._outlet.is_closed:
            return
        self._outlet.is_closed = self._deaf = True
        self._framer.forget()
        self._serving.end()
        self._exports.clear()
        self.questions.end(reason)

    def take_apart(self) -> None:
        """Called after the end: drops the references to the driver, because garbage is seldom
        collected.
        """
        self._outlet.take_apart()
        self._handlers.clear()

    # Calling. In any thread.

    def bootstrap(self) -> RemoteCapability:
        """The first object of the other side, which may be called at once."""
        return self.questions.bootstrap()

    def call(
        self, target: RemoteCapability, method: Method, params: Fields, on_return: OnReturn
    ) -> Question:
        """Calls a method; `on_return` gets its results, or why there are none, in `receive`.

        The call is not repeated over another connection. If the connection has ended, `on_return`
        is called at once with that.
        """
        call = self.questions.write(target, method, params, on_return)
        self.questions.say([call], again=False)
        return call

    # Going on over another connection. In the thread that receives.

    def begin_anew(self, said: deque[bytes]) -> None:
        """Another connection takes the place of one that was lost; a message that was received
        there in part is void.

        `said` is what was handed over and not sent. It becomes what is to be sent now: all calls
        that have not returned, in their order, and then what was said meanwhile. Other threads go
        on to hand over calls: each of these is among the former, or stays in `said`.
        """
        self._framer.forget()
        self.questions.make_again(said)

    # Receiving. In one thread.

    def _hear(self, message: Fields) -> None:
        ((kind, body),) = message.items()
        handle = self._handlers.get(kind)
        if handle is None:
            self._outlet.say({"unimplemented": {kind: echo(body)}})
        else:
            handle(body)

    def _released(self, release: Fields) -> None:
        self._exports.release(release["id"], release["referenceCount"])

    def _aborted(self, exception: Fields) -> None:
        self.farewell = exception["reason"] or "for no reason"
        self._deaf = True

    def _misunderstood(self, message: Fields | None) -> None:
        kind = next(iter(message or {"": None}))
        raise ProtocolError(f"the other side does not understand a message of the kind {kind!r}")
