"""Submissions are verified, and refused whole with no trace left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.ids import KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import ObjectState, TaskState
from rain.base.wire.submission import Submission
from rain.graph import Task
from rain.server.core.messages import Granted, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, scene
from tests.support.snapshot import snapshot
from tests.support.submissions import Draft

GONE = ("remains",)
"""Nodes that are in no table, and are still to be taken apart."""

Fault = Callable[[Scene, Draft], None]


def earlier(s: Scene) -> tuple[ObjectId, ObjectId]:
    """An object of an earlier submit that was kept, and one that was not."""
    _, (kept,) = s.draft.task(keep=True)
    _, (unkept,) = s.draft.task()
    s.submit()
    return kept, unkept


def number(s: Scene, value: int) -> int:
    return pack(s.draft.session, value)


def same_task_twice(s: Scene, draft: Draft) -> None:
    draft.task()
    draft.submission.tasks.ids[-1] = draft.submission.tasks.ids[-2]


def a_task_of_an_earlier_submit(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.ids[-1] = next(iter(s.world.state.graph.tasks))


def a_task_of_another_session(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.ids[-1] = TaskId(pack(99, 10))


def an_unknown_task_kind(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.kinds[-1] = KindId(number(s, 999))


def an_unknown_object_kind(s: Scene, draft: Draft) -> None:
    draft.constant()
    draft.submission.constants.kinds[-1] = KindId(number(s, 999))


def a_task_kind_with_unknown_outputs(s: Scene, draft: Draft) -> None:
    kind = KindId(draft.next_id())
    outputs = (KindId(number(s, 999)),)
    draft.submission.task_kinds.append(TaskKind(kind, "py/", outputs=outputs))


def the_same_task_kind_twice(s: Scene, draft: Draft) -> None:
    draft.submission.task_kinds.append(draft.submission.task_kinds[-1])


def a_known_task_kind_again(s: Scene, draft: Draft) -> None:
    session = s.world.state.graph.sessions[s.draft.session]
    draft.submission.task_kinds.append(next(iter(session.task_kinds.values())))


def the_same_object_kind_twice(s: Scene, draft: Draft) -> None:
    kind = ObjectKind(KindId(draft.next_id()))
    draft.submission.object_kinds += [kind, kind]


def an_object_kind_of_another_session(s: Scene, draft: Draft) -> None:
    draft.submission.object_kinds.append(ObjectKind(KindId(pack(99, 10))))


def a_task_kind_of_another_session(s: Scene, draft: Draft) -> None:
    draft.submission.task_kinds.append(TaskKind(KindId(pack(99, 10)), "py/"))


def two_producers(s: Scene, draft: Draft) -> None:
    draft.task()
    draft.submission.tasks.outputs[-1] = draft.submission.tasks.outputs[-2]


def a_producer_of_what_a_client_uploads(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.outputs[-1] = draft.constant()


def a_producer_of_what_is_there(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.outputs[-1] = next(iter(s.world.state.graph.objects))


def an_output_of_another_session(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.outputs[-1] = ObjectId(pack(99, 10))


def a_constant_of_another_session(s: Scene, draft: Draft) -> None:
    draft.constant()
    draft.submission.constants.ids[-1] = ObjectId(pack(99, 10))


def too_few_outputs(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.outputs.pop()


def too_many_outputs(s: Scene, draft: Draft) -> None:
    draft.submission.tasks.outputs.append(ObjectId(draft.next_id()))


def an_unknown_input(s: Scene, draft: Draft) -> None:
    draft.task(ObjectId(number(s, 999)))


def an_input_of_another_session(s: Scene, draft: Draft) -> None:
    other = s.client.session()
    _, (foreign,) = other.task(keep=True)
    s.client.submit(other)
    draft.task(foreign)


def an_unkept_input_of_an_earlier_submit(s: Scene, draft: Draft) -> None:
    unkept = [o.id for o in s.world.state.graph.objects.values() if not o.kept]
    draft.task(unkept[0])


def a_task_that_reads_its_own_output(s: Scene, draft: Draft) -> None:
    _, (made,) = draft.task(ObjectId(number(s, 0)))
    draft.submission.tasks.inputs[-1] = made


def a_long_cycle(s: Scene, draft: Draft) -> None:
    _, (first,) = draft.task(ObjectId(number(s, 0)))
    made = first
    for _ in range(20):
        _, (made,) = draft.task(made)
    draft.submission.tasks.inputs[0] = made


def keeping_what_is_unknown(s: Scene, draft: Draft) -> None:
    draft.submission.kept.append(ObjectId(number(s, 999)))


def keeping_what_is_not_new(s: Scene, draft: Draft) -> None:
    draft.submission.kept.append(next(iter(s.world.state.graph.objects)))


def a_session_that_is_not_open(s: Scene, draft: Draft) -> None:
    draft.submission.session = SessionId(77)


def a_session_of_another_client(s: Scene, draft: Draft) -> None:
    draft.submission.session = s.world.client().session().session


FAULTS: dict[Fault, str] = {
    same_task_twice: "the task 1/17 is defined twice",
    a_task_of_an_earlier_submit: "the task 1/12 is defined twice",
    a_task_of_another_session: "the task 99/10 does not belong to the session 1",
    an_unknown_task_kind: "the task 1/17 is of the unknown kind 1/999",
    an_unknown_object_kind: "the data object kind 1/999 is unknown",
    a_task_kind_with_unknown_outputs: "the data object kind 1/999 is unknown",
    the_same_task_kind_twice: "the task kind 1/16 is defined twice",
    a_known_task_kind_again: "the task kind 1/11 is defined twice",
    the_same_object_kind_twice: "the data object kind 1/20 is defined twice",
    an_object_kind_of_another_session: "the data object kind 99/10 does not belong",
    a_task_kind_of_another_session: "the task kind 99/10 does not belong to the session 1",
    two_producers: "the data object 1/18 is defined twice: it needs exactly one producer",
    a_producer_of_what_a_client_uploads: "the data object 1/20 is defined twice",
    a_producer_of_what_is_there: "the data object 1/13 is defined twice",
    an_output_of_another_session: "the data object 99/10 does not belong to the session 1",
    a_constant_of_another_session: "the data object 99/10 does not belong to the session 1",
    too_few_outputs: "the task 1/17 names too few outputs",
    too_many_outputs: "more outputs than its tasks have",
    an_unknown_input: "the input 1/999 of the task 1/20 is unknown",
    an_input_of_another_session: "belongs to another session",
    an_unkept_input_of_an_earlier_submit: "is from an earlier submit and was not kept",
    a_task_that_reads_its_own_output: "has a cycle: the task 1/20 would wait for itself",
    a_long_cycle: "has a cycle",
    keeping_what_is_unknown: "the data object 1/999 cannot be kept",
    keeping_what_is_not_new: "the data object 1/13 cannot be kept",
    a_session_that_is_not_open: "the session 77 is not open, or it is another client's",
    a_session_of_another_client: "the session 2 is not open, or it is another client's",
}


@pytest.mark.parametrize("at_once", [10_000, 1])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_an_inconsistent_submission_is_refused_whole_and_leaves_no_trace(
    fault: Fault, at_once: int
) -> None:
    # given: a session with some history, and a submission that is in order
    settings = ReactorSettings(grown_at_once=at_once, governor_silence=1e9, debug=True)
    s = scene(1, settings=settings)
    earlier(s)
    kind = KindId(s.draft.next_id())
    assert s.draft.object_kind is not None
    outputs = (s.draft.object_kind,)
    s.draft.task()
    s.draft.submission.task_kinds.append(TaskKind(kind, "py/", outputs=outputs))
    s.draft.constant(b"new", keep=True)

    # when: it has one fault somewhere
    fault(s, s.draft)
    before = snapshot(s.world.state.graph, GONE)
    answer = s.client.submit(s.draft)

    # then
    assert isinstance(answer, Refuse)
    assert isinstance(answer.reason, str)
    assert FAULTS[fault] in answer.reason
    assert snapshot(s.world.state.graph, GONE) == before
    assert not s.scripted.heard[-1].submitted


def test_a_submission_after_a_refused_one_works() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.draft.submission.kept.append(ObjectId(pack(s.draft.session, 999)))
    good = s.draft.submission
    assert isinstance(s.client.submit(s.draft), Refuse)
    good.kept.clear()
    s.draft.submission = good
    assert isinstance(s.client.submit(s.draft), Granted)
    assert s.world.task(task).state is TaskState.READY


def test_a_submission_is_heard_of_by_the_scheduler_with_inputs_before_consumers() -> None:
    # given: a chain that the client names from its end
    s = scene(1)
    made = s.draft.task()[1][0]
    for _ in range(3):
        made = s.draft.task(made)[1][0]
    columns = s.draft.submission.tasks
    in_order = list(columns.ids)
    columns.ids.reverse()
    columns.outputs.reverse()
    columns.inputs.reverse()
    columns.input_counts.reverse()

    # when
    s.submit()

    # then
    news = s.scripted.heard[-1].submitted
    assert [task.id for task in news] == in_order
    assert [task.order for task in news] == [1, 2, 3, 4]


def test_a_kept_object_can_be_used_by_a_later_submit() -> None:
    # given
    s = scene(1)
    kept, _ = earlier(s)
    producer = s.world.object(kept).producer
    assert isinstance(producer, Task)

    # when
    task, _ = s.draft.task(kept)
    s.submit()

    # then
    assert s.world.task(task).state is TaskState.NOT_ASSIGNED
    s.run(producer.id)
    assert s.world.task(task).state is TaskState.READY


def test_a_constant_is_finished_at_once_and_an_unneeded_one_is_gone_at_once() -> None:
    s = scene(1)
    kept = s.draft.constant(b"kept", keep=True)
    read = s.draft.constant(b"read")
    useless = s.draft.constant(b"useless")
    s.draft.task(read)
    s.submit()
    assert s.world.object(kept).state is ObjectState.FINISHED
    assert s.world.object(read).state is ObjectState.FINISHED
    assert s.world.object(useless).state is ObjectState.REMOVED


def test_an_empty_submission_is_granted_and_changes_nothing() -> None:
    s = scene(1)
    before = snapshot(s.world.state.graph)
    s.draft.submission = Submission(s.draft.session)
    assert isinstance(s.client.submit(s.draft), Granted)
    assert snapshot(s.world.state.graph) == before


def test_a_session_keeps_its_priorities_when_kinds_come_that_have_none() -> None:
    s = scene(1)
    s.draft.task(priority=3)
    s.submit()
    s.draft.task(cpus=2)
    s.submit()
    assert s.world.state.graph.sessions[s.draft.session].has_priorities
