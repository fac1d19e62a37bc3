"""Requests and their answers arrive as they were sent, or are refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError, RefusedError, SessionFailedError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import KindId, ObjectId, SessionId
from rain.base.wire import ConstantColumns, Submission, WaitAnswer
from rain.rpc.codec.requests import (
    WAIT_MODES,
    Abandon,
    Cancel,
    CloseSession,
    HandlesGone,
    OpenSession,
    Request,
    SubmitPart,
    Unkeep,
    Wait,
    read_request,
    write_request,
)
from rain.rpc.codec.responses import (
    read_answer,
    write_done,
    write_opened,
    write_refused,
    write_waited,
)
from tests.rpc.values import (
    FEW,
    object_ids,
    session_failures,
    sessions,
    submissions,
    task_ids,
    texts,
    wait_answers,
)

counted = st.integers(0, 2**62)
wanted = st.lists(object_ids, max_size=FEW)
parts = st.builds(SubmitPart, submissions, st.just([]), st.booleans(), wanted)
waits = st.builds(
    Wait,
    sessions,
    st.lists(task_ids, max_size=FEW),
    st.lists(object_ids, max_size=FEW),
    st.sampled_from(WAIT_MODES),
    counted,
)
cancels = st.builds(
    Cancel,
    sessions,
    st.lists(task_ids, max_size=FEW),
    st.lists(object_ids, max_size=FEW),
    st.booleans(),
)
openings = st.builds(OpenSession, texts, texts, st.sampled_from(OnFailure))
closings = st.builds(CloseSession, sessions)
unkeeps = st.builds(Unkeep, st.lists(object_ids, max_size=FEW))
handles = st.builds(
    HandlesGone, st.lists(task_ids, max_size=FEW), st.lists(object_ids, max_size=FEW)
)
requests: st.SearchStrategy[Request] = (
    parts | waits | cancels | st.just(Abandon()) | openings | closings | unkeeps | handles
)


@given(counted, requests)
def test_a_request_arrives_as_it_was_sent(number: int, request: Request) -> None:
    assert read_request(write_request(number, request)) == (number, request)


def test_the_last_part_of_a_submission_says_that_its_tasks_fail_alone() -> None:
    part = SubmitPart(Submission(SessionId(1), fails_alone=True), [], last=True)
    _, read = read_request(write_request(1, part))
    assert isinstance(read, SubmitPart)
    assert read.last
    assert read.part.fails_alone


def test_constants_that_went_ahead_are_named_and_their_data_stays_behind() -> None:
    ids = [ObjectId(1), ObjectId(2), ObjectId(3)]
    constants = ConstantColumns(ids, [KindId(9)] * 3, [b"here", b"large", b"larger"])
    part = SubmitPart(Submission(SessionId(1), constants=constants), ids[1:], last=True)

    _, read = read_request(write_request(1, part))

    assert isinstance(read, SubmitPart)
    assert read.uploaded == ids[1:]
    assert read.part.constants.data == [b"here", b"", b""]


@given(counted, wait_answers)
def test_the_answer_to_a_wait_arrives_as_it_was_sent(number: int, answer: WaitAnswer) -> None:
    assert read_answer(write_waited(number, answer)) == (number, answer)


@given(counted)
def test_what_was_done_is_answered_with_its_number(number: int) -> None:
    assert read_answer(write_done(number, None)) == (number, None)


@given(counted, sessions)
def test_a_session_that_was_opened_is_named(number: int, session: SessionId) -> None:
    assert read_answer(write_opened(number, session)) == (number, session)


@given(texts, session_failures)
def test_a_refusal_says_why(reason: str, failure: SessionFailure) -> None:
    _, refused = read_answer(write_refused(1, reason))
    _, failed = read_answer(write_refused(1, failure))

    assert isinstance(refused, RefusedError)
    assert str(refused) == reason
    assert isinstance(failed, SessionFailedError)
    assert failed.failure == failure


@given(requests, st.data())
def test_damaged_requests_are_the_senders_fault_or_other_requests(
    request: Request, draw: st.DataObject
) -> None:
    encoded = bytearray(write_request(1, request))
    place = draw.draw(st.integers(0, len(encoded) - 1))
    encoded[place] = draw.draw(st.integers(0, 255))
    try:
        _, read = read_request(bytes(encoded))
    except ProtocolError:
        return
    if isinstance(read, SubmitPart):
        read.part.check()


@given(wait_answers, st.data())
def test_damaged_answers_are_the_senders_fault_or_other_answers(
    answer: WaitAnswer, draw: st.DataObject
) -> None:
    encoded = bytearray(write_waited(1, answer))
    place = draw.draw(st.integers(0, len(encoded) - 1))
    encoded[place] = draw.draw(st.integers(0, 255))
    try:
        _, read = read_answer(bytes(encoded))
    except ProtocolError:
        return
    if isinstance(read, WaitAnswer):
        read.delivery.check()


@given(st.binary(max_size=200))
def test_garbage_is_the_senders_fault(garbage: bytes) -> None:
    try:
        read_request(garbage)
    except ProtocolError:
        return


@pytest.mark.parametrize("content", [b"", b"\0" * 4, b"\0" * 12, b"\0\0\0\0\2\0\0\0"])
def test_what_is_cut_off_is_the_senders_fault(content: bytes) -> None:
    with pytest.raises(ProtocolError, match="a request: "):
        read_request(content)
