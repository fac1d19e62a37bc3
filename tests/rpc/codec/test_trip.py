"""Every value that travels arrives as it was sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.states import ObjectState
from rain.base.wire.answers import ObjectReport, WaitAnswer
from rain.base.wire.orders import Orders
from rain.base.wire.submission import Submission, TaskColumns
from rain.base.wire.update import TaskFailure, Update
from rain.rpc import schema
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.codec import from_bytes, through_the_wire, to_bytes
from rain.rpc.codec.border import TEXT_LIMIT
from tests.rpc.values import every_value, some_orders, some_updates


@given(every_value)
def test_a_value_arrives_as_it_was_sent(value: object) -> None:
    assert through_the_wire(value) == value


@given(st.lists(every_value, max_size=3))
def test_several_values_arrive_in_their_order(values: list[object]) -> None:
    assert through_the_wire(values) == values
    assert through_the_wire(tuple(values)) == tuple(values)


@given(some_orders() | some_updates(), st.data())
def test_damaged_bytes_are_the_senders_fault_or_another_value(
    value: Orders | Update, draw: st.DataObject
) -> None:
    # given: a message with one byte replaced, beyond the table of its segments
    encoded = bytearray(to_bytes(value))
    place = draw.draw(st.integers(8, len(encoded) - 1))
    encoded[place] = draw.draw(st.integers(0, 255))

    # when / then: reading it either gives columns that passed their check, or names the peer
    try:
        read = from_bytes(type(value), bytes(encoded))
    except ProtocolError:
        return
    read.check()


@given(st.binary(max_size=200))
def test_garbage_is_the_senders_fault(garbage: bytes) -> None:
    try:
        from_bytes(Update, garbage)
    except ProtocolError:
        return


def test_a_state_that_nobody_knows_is_the_senders_fault() -> None:
    report = schema.client.ObjectReport.new_message()
    report.state = 99
    with pytest.raises(ProtocolError, match=r"ObjectReport.state is 99, which is not known here"):
        from_bytes(ObjectReport, report.to_bytes())


def test_text_that_is_not_utf_8_is_the_senders_fault() -> None:
    encoded = bytearray(to_bytes(Update(failed=[TaskFailure(TaskId(1), 1, "broken")])))
    place = encoded.index(b"broken")
    encoded[place : place + 2] = b"\xff\xff"
    with pytest.raises(ProtocolError, match="a text is not UTF-8"):
        from_bytes(Update, bytes(encoded))


def test_text_for_people_may_hold_what_utf_8_cannot() -> None:
    value = Update(failed=[TaskFailure(TaskId(1), 1, "no file 'caf\udce9'")])
    assert through_the_wire(value).failed[0].message == "no file 'caf?'"


def test_text_for_people_loses_its_middle_when_it_is_too_long() -> None:
    value = Update(failed=[TaskFailure(TaskId(1), 1, "first" + "x" * 100_000_000 + "last")])
    message = through_the_wire(value).failed[0].message
    assert message.startswith("first")
    assert message.endswith("last")
    assert "characters left out" in message
    assert len(message) < TEXT_LIMIT + 100


def test_a_message_over_the_limit_is_refused_by_name() -> None:
    value = Submission(SessionId(1))
    value.tasks = TaskColumns([TaskId(1)], [KindId(1)], [bytes(MESSAGE_LIMIT)], [0], [], [])
    with pytest.raises(ProtocolError, match="the limit is 67108864"):
        to_bytes(value)


def test_what_is_empty_costs_next_to_nothing() -> None:
    for value in (Update(), Orders(), WaitAnswer()):
        assert len(to_bytes(value)) <= 160
    assert through_the_wire(ObjectReport(ObjectId(1), ObjectState.FINISHED)).size == 0
