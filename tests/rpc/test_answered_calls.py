"""A call that was answered goes with its data, and does not wait for the garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from rain.base.errors import ConnectionLostError
from rain.rpc.client_calls import PendingCall
from rain.rpc.interface import Fields
from rain.rpc.questions import CallError, Question


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def lost(error: CallError) -> ConnectionLostError:
    return ConnectionLostError(error.reason)


def pending() -> PendingCall[int]:
    """A call of one part, with data that goes ahead of it."""
    asked: PendingCall[int] = PendingCall(len, lost)
    asked.calls.append(Question(1, None, asked.returned))
    data = bytearray(100)
    asked.upload = lambda: bool(data)
    asked.calls[-1].ahead = asked.upload
    return asked


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("outcome", [{}, CallError("disconnected", "the connection was lost")])
def test_a_call_goes_with_what_it_has_sent_when_it_was_answered(
    outcome: Fields | CallError,
) -> None:
    # given
    asked = pending()
    question, there = asked.calls[-1], weakref.ref(asked.upload)

    # when
    question.end(outcome)

    # then
    del asked, question
    assert there() is None
