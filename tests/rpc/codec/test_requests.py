"""Requests and their answers arrive as they were sent, or are refused by name."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.governors import GovernorRow
from rain.base.ids import (
    FIRST_SHARED,
    LAST_SHARED,
    GovernorId,
    KindId,
    ObjectId,
    SessionId,
    TaskId,
)
from rain.base.resources import Resources
from rain.base.runs import RunCause, RunReport, RunState
from rain.base.states import ObjectState, TaskState
from rain.base.wire.answers import (
    DurableReport,
    DurableReports,
    DurableTask,
    HoldUps,
    JoinedSession,
    ObjectReport,
    Overview,
    TaskReport,
    TasksByName,
)
from rain.base.wire.demand import Demand, Load, Need
from rain.base.wire.printed import Watch
from rain.base.wire.requests import (
    Cancel,
    CancelUnstarted,
    CloseSession,
    DemandOf,
    DurableSessions,
    DurableTasks,
    Fetch,
    HandlesGone,
    JoinSession,
    OpenDashboard,
    OpenSession,
    OverviewOf,
    Promise,
    RemoveDurable,
    ReportsOf,
    ServerInfo,
    ShareDurable,
    TakeHandles,
    TakePrinted,
    Terminate,
    Unkeep,
    UsageOf,
    WaitFor,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.submission import ConstantColumns, Submission
from rain.graph.wait import WAIT_MODES
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec import answers, client_methods, requests
from rain.rpc.codec.record import Codec
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
some_tasks = st.lists(task_ids, max_size=FEW).map(tuple)
some_objects = st.lists(object_ids, max_size=FEW).map(tuple)
parents = st.none() | task_ids.filter(bool)
flags = st.booleans()

watches = st.builds(Watch, st.frozensets(sessions, max_size=2), st.frozensets(task_ids, max_size=2))

offers = st.builds(
    Resources, st.integers(0, 64), st.integers(1, 8).map(lambda amount: (("gpus", amount),))
)

REQUESTS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (
        OpenSession,
        st.builds(OpenSession, texts, texts, st.sampled_from(OnFailure), parents, flags),
    ),
    (JoinSession, st.builds(JoinSession, sessions, texts, flags, parents)),
    (CloseSession, st.builds(CloseSession, sessions)),
    (Unkeep, st.builds(Unkeep, some_objects)),
    (TakeHandles, st.builds(TakeHandles, some_objects, flags)),
    (
        WaitFor,
        st.builds(WaitFor, sessions, some_tasks, some_objects, st.sampled_from(MODES), counted),
    ),
    (Fetch, st.builds(Fetch, object_ids)),
    (ReportsOf, st.builds(ReportsOf, some_tasks, some_objects, flags)),
    (ServerInfo, st.builds(ServerInfo)),
    (CancelUnstarted, st.builds(CancelUnstarted, sessions, some_objects)),
    (OverviewOf, st.builds(OverviewOf, sessions)),
    (WhatHoldsUp, st.builds(WhatHoldsUp, st.booleans())),
    (UsageOf, st.builds(UsageOf)),
    (DemandOf, st.builds(DemandOf, st.floats(0, 1e6))),
    (Promise, st.builds(Promise, st.lists(offers, max_size=2).map(tuple), texts)),
    (TakePrinted, st.builds(TakePrinted, flags)),
    (OpenDashboard, st.builds(OpenDashboard)),
    (Terminate, st.builds(Terminate)),
    (DurableSessions, st.builds(DurableSessions)),
    (DurableTasks, st.builds(DurableTasks, texts, st.integers(0, 2**32 - 1))),
    (RemoveDurable, st.builds(RemoveDurable, texts)),
    (ShareDurable, st.builds(ShareDurable, texts, st.lists(texts, max_size=2).map(tuple))),
    (Cancel, st.builds(Cancel, sessions, some_tasks, some_objects, flags, flags)),
    (HandlesGone, st.builds(HandlesGone, some_tasks, some_objects)),
    (WatchPrinted, st.builds(WatchPrinted, st.none() | watches)),
]


def named(rows: list[tuple[Any, st.SearchStrategy[Any]]]) -> list[str]:
    return [kind.__name__ for kind, _ in rows]


def test_every_method_of_the_schema_is_asked_or_said_in_one_way() -> None:
    by_name = [method.name for method in (*client_methods.REQUESTS, *client_methods.STATEMENTS)]
    assert sorted([*by_name, "submit", "alive"]) == sorted(METHODS)


def through(layout: Layout, codec: Codec[Any], value: object) -> Any:
    return codec.read(layout.read(layout.write(codec.write(value))))


@pytest.mark.parametrize("some", [some for _, some in REQUESTS], ids=named(REQUESTS))
@given(data=st.data())
def test_what_is_asked_arrives_as_it_was_sent(
    some: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(some)
    method = client_methods.METHODS[type(value)]
    params = Layout.of(METHODS[method.name].param_type)
    assert through(params, method.params, value) == value


def submitted(part: SubmitPart) -> SubmitPart:
    layout = Layout.of(METHODS["submit"].param_type)
    return read_submit(layout.read(layout.write(write_submit(part))))


@given(st.builds(SubmitPart, submissions, st.just([]), flags, st.lists(object_ids, max_size=FEW)))
def test_a_part_of_a_submission_arrives_as_it_was_sent(part: SubmitPart) -> None:
    assert submitted(part) == part


firsts = st.just(0) | st.integers(FIRST_SHARED, LAST_SHARED)
joined = st.builds(JoinedSession, sessions, texts, st.sampled_from(OnFailure), firsts)
few = st.integers(0, 2**32 - 1)
some_texts = st.lists(texts, max_size=2).map(tuple)
overviews = st.builds(Overview, few, few, counted, counted, counted, texts)
both_reports = st.tuples(st.lists(task_reports, max_size=2), st.lists(object_reports, max_size=2))

durable_reports = st.builds(
    DurableReport, texts, st.floats(0, 2e9), few, counted, counted, counted, counted
)
durable_tasks = st.builds(DurableTask, task_ids, texts, st.lists(object_ids, max_size=2).map(tuple))

needs = st.builds(Need, offers, counted, st.floats(0, 1e9), counted, counted, st.floats(0, 1e9))
loads = st.builds(
    Load, counted.map(GovernorId), offers, counted, st.sampled_from(GovernorRow), flags
)
demands = st.builds(
    Demand, st.lists(needs, max_size=2).map(tuple), st.lists(loads, max_size=2).map(tuple)
)

RESULTS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (OpenSession, sessions),
    (JoinSession, joined),
    (WaitFor, wait_answers),
    (CancelUnstarted, st.lists(object_ids, max_size=FEW)),
    (Fetch, fetched),
    (ReportsOf, both_reports),
    (TakeHandles, st.lists(object_reports, max_size=2)),
    (OverviewOf, overviews),
    (WhatHoldsUp, st.builds(HoldUps, some_texts, some_texts)),
    (DemandOf, demands),
    (OpenDashboard, texts),
    (ServerInfo, st.lists(governor_reports, max_size=2)),
    (DurableSessions, st.builds(DurableReports, st.lists(durable_reports, max_size=2).map(tuple))),
    (DurableTasks, st.builds(TasksByName, st.lists(durable_tasks, max_size=2).map(tuple), few)),
]


@pytest.mark.parametrize(("kind", "some"), RESULTS, ids=named(RESULTS))
@given(data=st.data())
def test_what_is_answered_arrives_as_it_was_sent(
    kind: Any, some: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value, method = data.draw(some), client_methods.METHODS[kind]
    layout = Layout.of(METHODS[method.name].result_type)
    results = layout.read(layout.write(method.results.write(value)))
    assert method.results.read(results) == value
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
    read = submitted(part)
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


def test_a_wait_after_a_negative_number_of_tasks_is_refused() -> None:
    layout = Layout.of(METHODS["wait"].param_type)
    with pytest.raises(ProtocolError, match="-1 tasks cannot have been told before"):
        requests.read_wait(layout.read(layout.write({"since": -1, "mode": "news"})))


def test_the_server_knows_every_mode_of_the_schema() -> None:
    assert set(MODES) <= set(WAIT_MODES)


def answered(
    asked: ReportsOf, tasks: list[TaskReport], objects: list[ObjectReport]
) -> tuple[Any, Any]:
    """What a client reads of these reports."""
    layout = Layout.of(schema.client.ClientService.schema.methods["reports"].result_type)
    fields = layout.read(layout.write(answers.write_reports((tasks, objects))))
    read: tuple[Any, Any] = client_methods.method_of(asked).reader(asked)(fields)
    return read


def test_reports_that_are_too_long_for_one_message_come_one_after_the_other() -> None:
    # given: three tasks that have said much, and an object
    text = "x" * 60_000
    run = RunReport(1, "there:1", RunState.FAILED, None, text, text)
    tasks = [TaskReport(TaskId(number), TaskState.FAILED, runs=(run,) * 70) for number in range(3)]
    objects = [ObjectReport(ObjectId(9), ObjectState.FAILED)]
    asked = ReportsOf(tuple(task.id for task in tasks), (objects[0].id,))
    told: list[int] = []
    # when
    while tasks or objects:
        some, of_objects = answered(asked, tasks, objects)
        told += [task.id for task in some]
        told += [one.id for one in of_objects]
        tasks, objects = tasks[len(some) :], objects[len(of_objects) :]
        asked = ReportsOf(tuple(one.id for one in tasks), tuple(one.id for one in objects))
    # then
    assert told == [0, 1, 2, 9]


@pytest.mark.parametrize("told", [([], []), ([2], []), ([1], [9]), ([1, 2], [8]), ([1, 2, 3], [])])
def test_reports_of_others_or_none_are_no_answer(told: tuple[list[int], list[int]]) -> None:
    asked = ReportsOf((TaskId(1), TaskId(2)), (ObjectId(9),))
    tasks = [TaskReport(TaskId(number), TaskState.READY) for number in told[0]]
    objects = [ObjectReport(ObjectId(number), ObjectState.FAILED) for number in told[1]]
    with pytest.raises(ProtocolError, match="something else than was asked"):
        answered(asked, tasks, objects)
