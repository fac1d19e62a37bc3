"""Requests and their answers arrive as they were sent, or are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.runs import RunCause, RunReport, RunState
from rain.base.wire import ConstantColumns, JoinedSession, Overview, Submission
from rain.graph.wait import WAIT_MODES
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec import answers, requests, responses
from rain.rpc.codec.requests import (
    Cancel,
    CancelUnstarted,
    HandlesGone,
    JoinSession,
    OpenSession,
    ReportsOf,
    TakeHandles,
    Unkeep,
    Wait,
)
from rain.rpc.codec.submission import SubmitPart, read_submit, write_submit
from tests.rpc.values import (
    FEW,
    fetched,
    governor_reports,
    object_ids,
    object_reports,
    session_failures,
    sessions,
    submissions,
    task_ids,
    task_reports,
    texts,
    wait_answers,
)

MODES = [*schema.client.WaitMode.schema.enumerants]
METHODS = schema.client.ClientService.schema.methods

counted = st.integers(0, 2**62)
some_tasks, some_objects = st.lists(task_ids, max_size=FEW), st.lists(object_ids, max_size=FEW)
flags = st.booleans()

PARAMS: list[tuple[str, str, st.SearchStrategy[Any]]] = [
    # The method, how its parameters are called in the codec, and what they are.
    ("submit", "submit", st.builds(SubmitPart, submissions, st.just([]), flags, some_objects)),
    (
        "wait",
        "wait",
        st.builds(Wait, sessions, some_tasks, some_objects, st.sampled_from(MODES), counted),
    ),
    ("cancel", "cancel", st.builds(Cancel, sessions, some_tasks, some_objects, flags)),
    (
        "cancelUnstarted",
        "cancel_unstarted",
        st.builds(CancelUnstarted, sessions, some_objects),
    ),
    (
        "openSession",
        "open_session",
        st.builds(OpenSession, texts, texts, st.sampled_from(OnFailure)),
    ),
    ("joinSession", "join_session", st.builds(JoinSession, sessions, texts, flags)),
    ("closeSession", "close_session", sessions),
    ("overview", "overview_of", sessions),
    ("unkeep", "unkeep", st.builds(Unkeep, some_objects)),
    ("fetch", "fetch", object_ids),
    ("handlesGone", "handles_gone", st.builds(HandlesGone, some_tasks, some_objects)),
    ("takeHandles", "take_handles", st.builds(TakeHandles, some_objects, flags)),
    ("reports", "reports_of", st.builds(ReportsOf, some_tasks, some_objects, flags)),
]


def params_of(method: str, name: str, value: object) -> Any:
    layout = Layout.of(METHODS[method].param_type)
    write: Callable[[object], Any] = getattr(requests, f"write_{name}")
    return getattr(requests, f"read_{name}")(layout.read(layout.write(write(value))))


@pytest.mark.parametrize(("method", "name", "some"), PARAMS, ids=[row[0] for row in PARAMS])
@given(data=st.data())
def test_what_is_asked_arrives_as_it_was_sent(
    method: str, name: str, some: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(some)
    assert params_of(method, name, value) == value


joined = st.builds(JoinedSession, sessions, texts, st.sampled_from(OnFailure), counted)
few = st.integers(0, 2**32 - 1)
overviews = st.builds(Overview, few, few, counted, counted, counted, texts)
both_reports = st.tuples(st.lists(task_reports, max_size=2), st.lists(object_reports, max_size=2))

RESULTS: list[tuple[str, Any, str, st.SearchStrategy[Any]]] = [
    ("openSession", responses, "opened", sessions),
    ("joinSession", answers, "joined", joined),
    ("submit", responses, "wait_answer", wait_answers),
    ("wait", responses, "wait_answer", wait_answers),
    ("cancelUnstarted", responses, "cancelled", some_objects),
    ("fetch", answers, "fetched", fetched),
    ("reports", answers, "reports", both_reports),
    ("takeHandles", answers, "taken", st.lists(object_reports, max_size=2)),
    ("overview", answers, "overview", overviews),
    ("serverInfo", answers, "governor_reports", st.lists(governor_reports, max_size=2)),
]


@pytest.mark.parametrize(
    ("method", "module", "name", "some"), RESULTS, ids=[row[0] for row in RESULTS]
)
@given(data=st.data())
def test_what_is_answered_arrives_as_it_was_sent(
    method: str, module: Any, name: str, some: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(some)
    layout = Layout.of(METHODS[method].result_type)
    results = layout.read(layout.write(getattr(module, f"write_{name}")(value)))
    assert getattr(module, f"read_{name}")(results) == value
    assert answers.read_refusal(results["refusal"]) is None


@given(texts | session_failures)
def test_a_refusal_says_why(reason: str | SessionFailure) -> None:
    for method in METHODS.values():
        layout = Layout.of(method.result_type)
        if "refusal" in layout.slots:
            results = layout.read(layout.write({"refusal": answers.write_refusal(reason)}))
            assert answers.read_refusal(results["refusal"]) == reason


@pytest.mark.parametrize("task", [None, TaskId(5), TaskId(0)])
def test_the_failure_of_a_session_tells_every_run_of_its_task(task: TaskId | None) -> None:
    causes = (None, *RunCause)
    runs = tuple(
        RunReport(number, "here:1", state, cause, "why", "where", "before", "then", 0.5)
        for number, (state, cause) in enumerate(product(RunState, causes))
    )
    failure = SessionFailure("why", "where", task, runs)
    refusal = Layout.of(schema.common.Refusal)
    read = refusal.read(refusal.write(answers.write_refusal(failure)))
    assert answers.read_refusal(read) == failure


def test_the_last_part_of_a_submission_says_that_its_tasks_fail_alone() -> None:
    part = SubmitPart(Submission(SessionId(1), fails_alone=True), [], last=True)
    read = params_of("submit", "submit", part)
    assert read.last
    assert read.part.fails_alone


def test_constants_that_went_ahead_are_named_and_their_data_stays_behind() -> None:
    ids = [ObjectId(1), ObjectId(2), ObjectId(3)]
    constants = ConstantColumns(ids, [KindId(9)] * 3, [b"here", b"large", b"larger"])
    part = SubmitPart(Submission(SessionId(1), constants=constants), ids[1:], last=True)
    layout = Layout.of(schema.client.Submission)

    message = layout.write(write_submit(part))

    read = read_submit(layout.read(message))
    assert read.uploaded == ids[1:]
    assert read.part.constants.data == [b"here", b"", b""]
    assert b"large" not in message


def test_nobody_was_told_of_fewer_than_no_tasks() -> None:
    layout = Layout.of(METHODS["wait"].param_type)
    with pytest.raises(ProtocolError, match="-1 tasks cannot have been told before"):
        requests.read_wait(layout.read(layout.write({"since": -1, "mode": "news"})))


def test_the_server_knows_every_mode_of_the_schema() -> None:
    assert set(MODES) <= set(WAIT_MODES)
