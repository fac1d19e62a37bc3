"""Which calls are made again over another connection: each once, in their order, and no others."""

from __future__ import annotations

from rain.rpc.capnproto.messages import Framer
from rain.rpc.interface import Fields
from rain.rpc.peer import Peer
from rain.rpc.protocol import MESSAGE
from rain.rpc.questions import CallError, Question
from tests.rpc.peers import COUNTER, Pair


class Kept(Pair):
    """A pair whose calls outlive the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.run()
        self.caller.questions.keep()

    def write(self, method: str, **params: object) -> Question:
        method_of = COUNTER.methods[method]
        return self.caller.questions.write(self.root, method_of, params, self.returned.append)

    def make(self, method: str, **params: object) -> Question:
        call = self.write(method, **params)
        self.caller.questions.say([call])
        return call

    def lose(self) -> None:
        """What was sent is lost."""
        self.up.clear()
        self.down.clear()

    def anew(self) -> list[int]:
        """The numbers of the calls that are sent over the other connection, in their order."""
        self.caller.begin_anew(self.up)
        said: list[Fields] = [MESSAGE.read(one) for one in Framer(1 << 20).feed(b"".join(self.up))]
        return [message["call"]["questionId"] for message in said]


def test_open_calls_go_before_those_that_were_not_sent_and_each_goes_once() -> None:
    # given: two calls were sent, and another one was not
    pair = Kept()
    calls = [pair.make("add", number=1), pair.make("add", number=2)]
    pair.lose()
    calls.append(pair.make("add", number=3))
    # when / then
    assert pair.anew() == [call.id for call in calls]
    pair.run()
    assert pair.returned == [{"sum": 1}, {"sum": 3}, {"sum": 6}]


def test_calls_of_one_message_are_made_again_together() -> None:
    pair = Kept()
    calls = [pair.write("add", number=number) for number in (1, 2)]
    pair.caller.questions.say(calls)
    pair.lose()
    assert pair.anew() == [call.id for call in calls]
    pair.run()
    assert pair.returned == [{"sum": 1}, {"sum": 3}]


def test_a_call_that_has_returned_goes_again_with_its_message_and_returns_once() -> None:
    # given: one of two calls in a message has returned
    pair = Kept()
    calls = [pair.write("add", number=1), pair.write("wait")]
    pair.caller.questions.say(calls)
    pair.run()
    assert pair.returned == [{"sum": 1}]
    # when
    pair.lose()
    pair.server = Peer(pair.down.append, pair.counter.offered)
    again: list[bytes] = []
    Peer(again.append).bootstrap()  # as the client does over each connection
    pair.server.receive(*again)
    pair.lose()
    assert pair.anew() == [call.id for call in calls]
    pair.run()
    # then
    assert pair.returned == [{"sum": 1}]
    assert len(pair.caller.questions) == 1


def test_what_has_returned_is_not_made_again_and_is_settled() -> None:
    pair = Kept()
    done = pair.make("add", number=1)
    pair.run()
    open_one = pair.make("wait")
    pair.lose()
    assert pair.anew() == [open_one.id]
    assert pair.caller.questions.take_settled() == [done.id]


def test_what_was_given_up_ends_and_is_not_made_again() -> None:
    # given
    pair = Kept()
    call = pair.make("wait")
    pair.run()
    pair.caller.questions.give_up(call)
    # when / then: nor is anything said of it, which another connection would not understand
    assert pair.anew() == []
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert error.kind == "cancelled"
    assert pair.caller.questions.take_settled() == [call.id]
    assert not pair.caller.questions


def test_a_call_that_is_not_to_be_repeated_ends_with_its_connection() -> None:
    pair = Kept()
    pair.call("add", number=1)
    pair.lose()
    assert pair.anew() == []
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert error.kind == "disconnected"


def test_data_goes_again_ahead_of_what_is_made_again_only() -> None:
    # given: two calls with data that goes ahead of them, of which one was given up
    pair = Kept()
    calls = [pair.make("wait"), pair.make("wait")]
    sent: list[str] = []
    for call, data in zip(calls, ("given up", "wanted"), strict=True):
        call.ahead = lambda data=data: sent.append(data)
    pair.caller.questions.give_up(calls[0])
    # when
    pair.caller.questions.send_ahead()
    # then
    assert sent == ["wanted"]
