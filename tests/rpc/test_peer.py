"""The protocol of calls, between two peers of ours and without any socket."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.capnproto.messages import Framer
from rain.rpc.interface import Fields
from rain.rpc.offered import IncomingCall, Offered, RemoteCapability
from rain.rpc.peer import Peer
from rain.rpc.protocol import MESSAGE
from rain.rpc.questions import CallError
from rain.rpc.serving import TOGETHER
from tests.rpc.peers import COUNTER, LISTENER, Counter, Pair


def said(content: bytes) -> list[Fields]:
    return [MESSAGE.read(message) for message in Framer(1 << 20).feed(content)]


def test_a_call_returns_its_results_in_two_messages() -> None:
    pair = Pair()
    pair.call("add", number=3)
    pair.run()
    pair.call("add", number=4)
    assert len(pair.up) == 1
    pair.server.receive(pair.up.popleft())
    assert len(pair.down) == 1
    pair.run()
    assert pair.returned == [{"sum": 3}, {"sum": 7}]
    assert not pair.caller.questions


def test_a_call_may_name_an_object_that_has_not_come_yet() -> None:
    pair = Pair()
    pair.call("add", number=1)  # the bootstrap has not been heard of
    assert len(pair.up) == 2
    pair.run()
    assert pair.returned == [{"sum": 1}]


def test_a_failure_comes_back_with_its_reason() -> None:
    pair = Pair()
    pair.call("fail", reason="no such thing")
    pair.run()
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert (error.kind, error.reason) == ("failed", "no such thing")


def test_an_answer_may_come_later_and_in_another_order() -> None:
    pair = Pair()
    pair.call("wait")
    pair.call("wait")
    pair.run()
    first, second = pair.counter.waiting
    second.answer({"answer": "second"})
    first.answer({"answer": "first"})
    pair.run()
    assert pair.returned == [{"answer": "second"}, {"answer": "first"}]


def test_what_nobody_waits_for_returns_in_any_order_together_with_others() -> None:
    pair = Pair()
    for _ in range(TOGETHER):
        pair.call("wait")
    pair.run()
    *most, last = pair.counter.waiting
    for call in most:
        call.acknowledge({"answer": "heard"})
    pair.run()
    assert pair.returned == []
    last.acknowledge({"answer": "heard, too"})
    pair.run()
    assert pair.returned == [{"answer": "heard"}] * len(most) + [{"answer": "heard, too"}]
    assert not pair.caller.questions


def test_a_call_that_was_heard_returns_although_it_is_given_up_meanwhile() -> None:
    pair = Pair()
    questions = [pair.call("wait") for _ in range(TOGETHER)]
    pair.run()
    first, *others = pair.counter.waiting
    first.acknowledge({"answer": "heard"})
    pair.caller.questions.give_up(questions[0])
    pair.run()
    for call in others:
        call.acknowledge()
    pair.run()
    assert pair.returned == [{"answer": "heard"}] + [{"answer": ""}] * len(others)
    assert pair.counter.given_up == 0
    assert not pair.caller.questions


def test_a_call_that_is_given_up_is_told_to_who_serves_it_and_returns_as_cancelled() -> None:
    pair = Pair()
    question = pair.call("wait")
    pair.run()
    (waiting,) = pair.counter.waiting
    pair.caller.questions.give_up(question)
    pair.caller.questions.give_up(question)
    assert len(pair.up) == 1
    pair.run()
    assert pair.counter.given_up == 1
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert error.kind == "cancelled"
    assert not pair.caller.questions
    waiting.answer({"answer": "too late"})
    assert not pair.down


def test_a_return_and_a_give_up_may_cross_each_other() -> None:
    pair = Pair()
    question = pair.call("wait")
    pair.run()
    pair.counter.waiting[0].answer({"answer": "a"})
    pair.caller.questions.give_up(question)
    pair.run()
    assert pair.returned == [{"answer": "a"}]
    pair.call("add", number=1)
    pair.run()
    assert pair.returned == [{"answer": "a"}, {"sum": 1}]


def test_an_answer_is_given_once() -> None:
    pair = Pair()
    pair.call("wait")
    pair.run()
    (waiting,) = pair.counter.waiting
    waiting.answer({"answer": "a"})
    with pytest.raises(InvariantError, match="answered twice"):
        waiting.fail("b")


def test_objects_travel_as_results_and_are_called() -> None:
    pair = Pair()
    pair.call("open", label="second")
    pair.run()
    opened = pair.returned.pop()
    assert isinstance(opened, dict)
    assert opened["label"] == "second"
    pair.call("add", opened["counter"], number=5)
    pair.run()
    assert pair.returned == [{"sum": 5}]
    assert pair.counter.opened[0].sum == 5


def test_who_serves_is_told_when_a_result_with_an_object_has_come_and_only_then() -> None:
    pair = Pair()
    pair.run()
    pair.call("add", number=3)
    pair.call("open", label="second")
    content = b"".join(pair.up)
    pair.up.clear()
    pair.server.receive(content)
    opened = said(content)[-1]["call"]["questionId"]
    while pair.down:
        pair.caller.receive(pair.down.popleft())
    (message,) = said(b"".join(pair.up))
    assert message["finish"]["questionId"] == opened


def test_objects_travel_as_parameters_and_are_called_back() -> None:
    heard: list[str] = []

    def hear(params: Fields, call: IncomingCall) -> None:
        heard.append(params["text"])
        call.answer({"answer": "yes"})

    pair = Pair()
    pair.call("tell", listener=Offered(LISTENER, {"hear": hear}), text="x")
    pair.run()
    (listener,) = pair.counter.listeners
    answers: list[Fields | CallError] = []
    pair.server.call(listener, LISTENER.methods["hear"], {"text": "hello"}, answers.append)
    pair.run()
    assert (heard, answers) == (["hello"], [{"answer": "yes"}])


def test_the_end_tells_every_caller_and_who_serves() -> None:
    pair = Pair()
    pair.call("wait")
    pair.run()
    pair.caller.end("the link was cut")
    pair.server.end("the link was cut")
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert (error.kind, error.reason) == ("disconnected", "the link was cut")
    assert pair.counter.given_up == 1
    assert not pair.caller.questions.is_open(pair.call("add", number=1))
    assert len(pair.returned) == 2


def test_a_farewell_says_why_and_nothing_is_heard_behind_it() -> None:
    pair = Pair()
    pair.call("add", number=1)
    pair.run()
    pair.server.abort("the server stops")
    pair.run()
    assert pair.caller.farewell == "the server stops"


def test_several_calls_leave_as_one_piece_or_not_at_all() -> None:
    pair = Pair()
    pair.run()
    add = COUNTER.methods["add"]
    write, answered = pair.caller.questions.write, pair.returned.append
    pair.caller.questions.say([write(pair.root, add, {"number": n}, answered) for n in (1, 2)])
    assert len(pair.up) == 1
    pair.run()
    assert pair.returned == [{"sum": 1}, {"sum": 3}]
    with pytest.raises(Exception, match="integer"):
        write(pair.root, add, {"number": "three"}, answered)
    assert not pair.up
    assert not pair.caller.questions


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"return": {"answerId": 9, "canceled": None}}, "nobody has asked"),
        ({"call": {"questionId": 9, "target": {"importedCap": 7}}}, "was not offered"),
        ({"call": {"questionId": 9, "sendResultsTo": {"yourself": None}}}, "to the caller only"),
        ({"release": {"id": 4, "referenceCount": 1}}, "more references"),
        ({"unimplemented": {"call": {}}}, "does not understand"),
    ],
)
def test_what_may_not_be_said_is_the_fault_of_who_says_it(message: Fields, why: str) -> None:
    peer = Peer(lambda _: None, Counter().offered)
    with pytest.raises(ProtocolError, match=why):
        peer.receive(MESSAGE.write(message))


def test_a_question_that_is_asked_twice_is_a_fault() -> None:
    pair = Pair()
    pair.call("wait")
    content = pair.up[-1]
    pair.run()
    with pytest.raises(ProtocolError, match="asked twice"):
        pair.server.receive(content)


def test_a_call_of_a_result_that_has_gone_fails_alone() -> None:
    pair = Pair()
    nowhere = Peer(pair.down.append)
    nowhere.receive(b"".join(pair.up))
    pair.up.clear()
    pair.call("add", number=1)
    nowhere.receive(pair.up.popleft())
    pair.run()
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert "not there" in error.reason


def test_a_call_of_a_result_that_is_given_up_before_it_comes_fails_alone() -> None:
    pair = Pair()
    question = pair.call("wait")
    promised = RemoteCapability(
        {"promisedAnswer": {"questionId": question.id, "transform": [{"getPointerField": 0}]}}
    )
    pair.call("add", promised, number=1)
    pair.run()
    assert pair.returned == []
    pair.caller.questions.give_up(question)
    pair.run()
    given_up, unserved = pair.returned
    assert isinstance(given_up, CallError)
    assert isinstance(unserved, CallError)
    assert (given_up.kind, unserved.reason) == (
        "cancelled",
        "the result that was to be called is not there",
    )
    assert not pair.caller.questions


def test_what_is_beyond_level_one_is_answered_with_unimplemented() -> None:
    out: list[bytes] = []
    peer = Peer(out.append, Counter().offered)
    for kind in ("resolve", "disembargo", "provide", "accept", "join"):
        peer.receive(MESSAGE.write({kind: {}}))
    assert [next(iter(said(one)[0]["unimplemented"])) for one in out] == [
        *("resolve", "disembargo", "provide", "accept", "join")
    ]


def test_what_is_not_understood_is_echoed_without_what_may_be_anything() -> None:
    out: list[bytes] = []
    peer = Peer(out.append, Counter().offered)
    anything = (MESSAGE, {"release": {"id": 1}})
    peer.receive(MESSAGE.write({"provide": {"questionId": 7, "recipient": anything}}))
    peer.receive(MESSAGE.write({"obsoleteSave": anything}))
    (provide,), (save,) = map(said, out)
    assert provide["unimplemented"]["provide"]["questionId"] == 7
    assert "obsoleteSave" in save["unimplemented"]


def test_a_method_or_an_interface_that_is_not_there_fails_the_call_only() -> None:
    pair = Pair()
    pair.run()
    pair.caller.call(pair.root, LISTENER.methods["hear"], {"text": ""}, pair.returned.append)
    pair.run()
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert error.kind == "unimplemented"


def test_a_handler_that_blames_the_caller_answers_the_reason_first() -> None:
    def blame(params: Fields, call: IncomingCall) -> None:
        raise ProtocolError("not like this")

    out: list[bytes] = []
    names = dict.fromkeys(COUNTER.methods, blame)
    peer = Peer(out.append, Offered(COUNTER, names))
    pair = Pair()
    pair.call("wait")
    with pytest.raises(ProtocolError, match="not like this"):
        peer.receive(b"".join(pair.up))
    for content in out:
        pair.caller.receive(content)
    (error,) = pair.returned
    assert isinstance(error, CallError)
    assert error.reason == "not like this"


def test_a_message_longer_than_allowed_is_refused_at_its_beginning() -> None:
    peer = Peer(lambda _: None, Counter().offered, longest=1024)
    with pytest.raises(ProtocolError, match="the limit is"):
        peer.receive((0).to_bytes(4, "little") + (1000).to_bytes(4, "little"))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_calls_answers_and_give_ups_in_any_order_and_in_any_pieces(data: st.DataObject) -> None:
    pair = Pair()
    wanted: dict[int, Any] = {}
    asked = 0
    total = 0
    got: list[tuple[int, Fields | CallError]] = []

    def came(number: int, outcome: Fields | CallError) -> None:
        got.append((number, outcome))

    for _ in range(data.draw(st.integers(1, 25))):
        step = data.draw(st.sampled_from(["add", "wait", "answer", "hear", "give up", "run"]))
        if step in {"add", "wait"}:
            number = asked
            asked += 1
            params = {"number": number} if step == "add" else {}
            total += number if step == "add" else 0
            wanted[number] = pair.caller.call(
                pair.root,
                COUNTER.methods[step],
                params,
                partial(came, number),
            )
        elif step == "answer" and pair.counter.waiting:
            place = data.draw(st.integers(0, len(pair.counter.waiting) - 1))
            pair.counter.waiting.pop(place).answer({"answer": "done"})
        elif step == "hear" and pair.counter.waiting:
            pair.counter.waiting.pop().acknowledge({"answer": "heard"})
        elif step == "give up" and wanted:
            number = data.draw(st.sampled_from(sorted(wanted)))
            if all(number != known for known, _ in got):
                pair.caller.questions.give_up(wanted[number])
        else:
            pair.run(data.draw(st.integers(1, 40)))
    pair.run()
    while pair.counter.waiting:
        pair.counter.waiting.pop().answer({"answer": "done"})
    pair.run(7)
    while pair.caller.questions:  # until all that was heard has returned, too
        pair.caller.call(pair.root, COUNTER.methods["wait"], {}, lambda _: None)
        pair.run()
        pair.counter.waiting.pop().acknowledge()
        pair.run()
    assert pair.counter.sum == total
    assert sorted(number for number, _ in got) == sorted(wanted)
    assert not pair.caller.questions


@settings(max_examples=300)
@given(st.data())
def test_whatever_a_stranger_says_is_understood_or_blamed_on_him(data: st.DataObject) -> None:
    pair = Pair()
    pair.call("add", number=1)
    pair.call("open", label="x")
    pair.call("wait")
    content = bytearray(b"".join(pair.up))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ProtocolError):
        pair.server.receive(bytes(content))
