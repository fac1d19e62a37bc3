"""In a session that goes on, a failure ends what depends on it, and nothing else."""

from __future__ import annotations

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import TaskId
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.answers import WaitAnswer
from rain.graph import Task
from rain.server.core.messages import Answered, Granted, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import reports_of
from tests.support.scenes import Scene, scene

GO_ON = OnFailure.CONTINUE


def failure_of(s: Scene, request: object) -> SessionFailure:
    refusal = next(answer for key, answer in s.world.answers.items() if key == request)
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    return refusal.reason


def a_chain_and_another() -> tuple[Scene, list[TaskId]]:
    """first -> second -> third, and a task apart; the first is about to fail."""
    s = scene(4, on_failure=GO_ON)
    constant = s.draft.constant(b"x" * 20_000)
    first, (a,) = s.draft.task(constant)
    second, (b,) = s.draft.task(a)
    third, _ = s.draft.task(b, keep=True)
    apart, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(first, second, apart)
    return s, [first, second, third, apart]


def rows(s: Scene, tasks: list[TaskId]) -> list[TaskRow]:
    return [s.world.task(task).row for task in tasks]


def test_what_depends_on_a_failure_is_skipped_and_the_rest_goes_on() -> None:
    s, tasks = a_chain_and_another()
    s.governors[0].fail(tasks[0], "why")
    assert rows(s, tasks) == [
        TaskRow.FAILED,
        TaskRow.SKIPPED,
        TaskRow.SKIPPED,
        TaskRow.ASSIGNED,
    ]
    failed = [s.world.task(task) for task in tasks[:3]]
    (cause,) = {task.failure for task in failed}
    assert cause is not None
    assert (cause.message, cause.task) == ("why", tasks[0])
    assert {output.state for task in failed for output in task.outputs} == {ObjectState.FAILED}
    s.governors[0].finish(tasks[3])
    assert s.world.task(tasks[3]).state is TaskState.FINISHED


def test_inputs_that_only_failed_tasks_needed_are_let_go() -> None:
    s, tasks = a_chain_and_another()
    (constant,) = s.world.task(tasks[0]).inputs
    s.governors[0].locate(constant.id)
    s.governors[0].fail(tasks[0])
    assert constant.state is ObjectState.REMOVED
    assert constant.id in s.governors[0].told[-1].drops


def test_a_wait_for_a_failed_task_ends_at_once_and_one_for_the_session_at_its_end() -> None:
    # given
    s, tasks = a_chain_and_another()
    (output,) = s.world.task(tasks[2]).outputs
    for_first = s.client.wait(s.draft.session, tasks[0])
    for_third = s.client.wait(s.draft.session, tasks[3], tasks[2])
    for_data = s.client.fetch(output.id)
    for_other = s.client.wait(s.draft.session, tasks[3])
    for_all = s.client.wait(s.draft.session, mode="session")

    # when
    s.governors[0].fail(tasks[0], "why")

    # then
    cause = s.world.task(tasks[0]).failure
    assert cause is not None
    assert (cause.message, cause.task) == ("why", tasks[0])
    assert [failure_of(s, request) for request in (for_first, for_third, for_data)] == [cause] * 3
    assert for_other not in s.world.answers
    assert for_all not in s.world.answers

    # and when everything is done
    s.governors[0].finish(tasks[3])
    assert isinstance(s.world.answers[for_other], Answered)
    assert failure_of(s, for_all) == cause


def test_a_wait_for_some_tasks_counts_failed_ones_as_done() -> None:
    s, tasks = a_chain_and_another()
    (output,) = s.world.task(tasks[1]).outputs
    request = s.client.wait(s.draft.session, tasks[2], tasks[3], objects=(output.id,), mode="some")
    s.governors[0].fail(tasks[0])
    assert s.world.answers[request] == Answered(
        request, WaitAnswer([tasks[2]], [output.id], failed=[tasks[2], output.id])
    )


def test_later_questions_get_the_cause_as_well() -> None:
    s, tasks = a_chain_and_another()
    (output,) = s.world.task(tasks[2]).outputs
    s.governors[0].fail(tasks[0], "why")
    session = s.draft.session
    for request in (
        s.client.wait(session, tasks[2]),
        s.client.wait(session, objects=(output.id,)),
        s.client.fetch(output.id),
    ):
        assert failure_of(s, request).task == tasks[0]
    answer = s.client.states(tasks[2], objects=(output.id,))
    (told,), (made,) = reports_of(answer)
    assert (told.state, told.error) == (TaskState.FAILED, "why")
    assert made.state is ObjectState.FAILED
    assert isinstance(s.client.unkeep(output.id), Granted)


def test_a_task_that_reads_what_failed_before_it_was_submitted_is_skipped_at_once() -> None:
    # given
    s, tasks = a_chain_and_another()
    (output,) = s.world.task(tasks[2]).outputs
    s.governors[0].fail(tasks[0], "why")

    # when
    late, (made,) = s.draft.task(output.id)
    later, _ = s.draft.task(made)
    assert isinstance(s.client.submit(s.draft), Granted)

    # then
    assert rows(s, [late, later]) == [TaskRow.SKIPPED, TaskRow.SKIPPED]
    assert failure_of(s, s.client.wait(s.draft.session, later)).task == tasks[0]


def test_who_was_told_of_a_failure_is_told_again_when_a_new_task_is_skipped_for_it() -> None:
    # given: a wait for the whole session has told of the failure
    s = scene(1, on_failure=GO_ON)
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].fail(task, "why")
    assert failure_of(s, s.client.wait(s.draft.session, mode="session")).task == task
    # when
    s.draft.task(made)
    s.submit()
    # then
    assert failure_of(s, s.client.wait(s.draft.session, mode="session")).task == task


def test_a_task_is_tried_again_before_it_counts_as_failed() -> None:
    s = scene(1, on_failure=GO_ON)
    task, _ = s.draft.task(tries=2)
    s.submit()
    s.assign(task)
    s.governors[0].fail(task)
    assert rows(s, [task]) == [TaskRow.READY]
    s.assign(task)
    s.governors[0].fail(task)
    assert rows(s, [task]) == [TaskRow.FAILED]
    assert len(failure_of(s, s.client.wait(s.draft.session, task)).runs) == 2


def test_what_failed_when_it_was_made_again_fails_those_who_need_it_now() -> None:
    # given: a finished object that was lost, whose task fails when it runs again
    s = scene(1, 1, on_failure=GO_ON)
    maker, (a, b) = s.draft.task(outputs=2)
    early, _ = s.draft.task(a)
    late, (c,) = s.draft.task(b)
    last, _ = s.draft.task(c, a)
    s.submit()
    s.run(maker)
    s.run(early)
    s.governors[0].leave()
    assert rows(s, [maker, early]) == [TaskRow.READY, TaskRow.FINISHED]

    # when
    s.assign(maker, to=1)
    s.governors[1].fail(maker)

    # then: what was finished stays so
    assert rows(s, [maker, early, late, last]) == [
        TaskRow.FAILED,
        TaskRow.FINISHED,
        TaskRow.SKIPPED,
        TaskRow.SKIPPED,
    ]


def test_a_kind_that_no_governor_fits_fails_with_all_its_tasks_and_nothing_else() -> None:
    settings = ReactorSettings(infeasible_grace=30.0, debug=True, governor_silence=1e9)
    s = scene(1, settings=settings, on_failure=GO_ON)
    first, (a,) = s.draft.task(cpus=9)
    second, _ = s.draft.task(a, cpus=9)
    third, (c,) = s.draft.task()
    waits, _ = s.draft.task(c, cpus=9)
    s.submit()
    s.world.turn(after=60.0)
    assert rows(s, [first, second, third, waits]) == [
        TaskRow.FAILED,
        TaskRow.SKIPPED,
        TaskRow.READY,
        TaskRow.SKIPPED,
    ]
    assert "needs cpus=9" in failure_of(s, s.client.wait(s.draft.session, second)).message


def test_a_task_under_which_governors_are_lost_fails_alone() -> None:
    settings = ReactorSettings(crash_limit=1, debug=True, governor_silence=1e9)
    s = scene(1, 1, settings=settings, on_failure=GO_ON)
    task, (a,) = s.draft.task()
    reader, _ = s.draft.task(a)
    apart, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    s.governors[0].leave()
    assert rows(s, [task, reader, apart]) == [TaskRow.FAILED, TaskRow.SKIPPED, TaskRow.READY]


def test_a_chain_of_any_length_is_skipped() -> None:
    s = scene(1, on_failure=GO_ON)
    first, (last,) = s.draft.task()
    for _ in range(3000):
        _, (last,) = s.draft.task(last)
    s.submit()
    s.assign(first)
    s.governors[0].fail(first)
    tasks: list[Task] = list(s.world.state.graph.tasks.values())
    assert sum(task.row is TaskRow.SKIPPED for task in tasks) == 3000
    assert s.world.state.graph.sessions[s.draft.session].unfinished == 0


def test_a_failure_is_told_to_who_waits_for_the_whole_session_once() -> None:
    s, tasks = a_chain_and_another()
    s.governors[0].fail(tasks[0], "why")
    s.governors[0].finish(tasks[3])

    first = s.client.wait(s.draft.session, mode="session")
    second = s.client.wait(s.draft.session, mode="session")

    assert failure_of(s, first).message == "why"
    assert isinstance(s.world.answers[second], Answered)


def test_a_failure_that_was_told_is_not_told_again_with_the_whole_session() -> None:
    s, tasks = a_chain_and_another()
    s.governors[0].fail(tasks[0], "why")
    s.governors[0].finish(tasks[3])
    assert failure_of(s, s.client.wait(s.draft.session, tasks[2])).message == "why"
    waits = s.client.wait(s.draft.session, mode="session")
    assert isinstance(s.world.answers[waits], Answered)
