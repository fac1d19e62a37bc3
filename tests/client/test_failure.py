"""Spec 1.2: exceptions and their texts."""

import pytest

from rain.base.errors import ConnectionLostError, RefusedError, StartError
from rain.base.failures import SessionFailure
from rain.base.runs import RUN_FACTS, RunCause, RunReport, RunState
from rain.client import (
    ConnectionException,
    RainException,
    SessionException,
    Task,
    TaskException,
    TimeoutException,
    blob,
    remote,
    tasks,
)
from rain.common.attributes import TaskInfo
from tests.client.fake import World


@remote()
def work(ctx: object, value: int) -> int:
    return value


def created_here() -> Task:
    return work(1)


def test_a_failed_task_is_named_with_its_message_and_where_it_was_created(here: World) -> None:
    with here.session:
        task = created_here()
        here.session.submit()
        message = "Traceback: ZeroDivisionError"
        here.server.failures[1] = SessionFailure(message, "a debug line", task.packed_id)

        with pytest.raises(TaskException) as caught:
            task.wait()

        lines = str(caught.value).splitlines()
        assert lines[0] == f"Task {task!r} failed"
        assert lines[1] == "Message: Traceback: ZeroDivisionError"
        assert lines[2] == "Task created at:"
        assert "in created_here" in str(caught.value)
        assert "return work(1)" in str(caught.value)
        assert "rain/client" not in str(caught.value)
        assert lines[-2:] == ["Debug:", "a debug line"]
        assert caught.value.task_id == task.id


def test_the_task_is_named_although_its_handle_has_gone(here: World) -> None:
    with here.session:
        number = tasks.Sleep(blob("x"), 1, name="sleeper").packed_id
        here.session.submit()
        here.server.failures[1] = SessionFailure("stopped", "", number)

        with pytest.raises(TaskException, match="Task <Task 1/12 'sleeper' type=buildin/sleep>"):
            here.session.wait_all()


def test_without_a_task_to_blame_it_is_a_session_exception(here: World) -> None:
    with here.session:
        work(1)
        here.session.submit()
        here.server.failures[1] = SessionFailure("the last copy is lost")

        with pytest.raises(SessionException) as caught:
            here.session.wait_all()

        assert str(caught.value) == "Message: the last copy is lost"
        assert not isinstance(caught.value, TaskException)


def test_every_later_call_says_the_same_and_close_still_works(here: World) -> None:
    with here.session:
        task = work(1)
        task.output.keep()
        here.session.submit()
        here.server.failures[1] = SessionFailure("broken", "", task.packed_id)

        for call in (
            here.session.wait_all,
            task.wait,
            task.update,
            task.output.fetch,
            task.output.unkeep,
            lambda: here.session.wait_some([task]),
        ):
            with pytest.raises(TaskException, match="Message: broken"):
                call()
        assert task.output.is_kept()

    assert not here.session.active
    assert here.server.sessions == {}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RefusedError("no such thing"), RainException),
        (ConnectionLostError("the server has gone"), ConnectionException),
        (StartError("no server"), ConnectionException),
    ],
)
def test_errors_of_the_connection_are_rain_exceptions(
    here: World, error: Exception, expected: type[RainException]
) -> None:
    with here.session:
        work(1)
        here.session.submit()
        here.server.errors["wait"] = error

        with pytest.raises(expected, match=str(error)):
            here.session.wait_all()


def test_other_errors_stay_what_they_are(here: World) -> None:
    here.server.errors["server_info"] = KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt):
        here.client.get_server_info()


def test_python_s_own_exceptions_are_bases_where_they_fit() -> None:
    assert issubclass(TimeoutException, TimeoutError)
    assert issubclass(ConnectionException, ConnectionError)


def test_every_run_is_told_and_the_text_has_those_that_have_failed_before(here: World) -> None:
    with here.session:
        task = created_here()
        here.session.submit()
        told, start = "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00"
        failed, withdrawn = RunState.FAILED, RunState.WITHDRAWN
        runs = (
            RunReport(
                1, "a:1", failed, RunCause.EXECUTOR, "killed by signal 9", "", told, start, 2.5
            ),
            RunReport(2, "c:1", withdrawn, RunCause.TAKEN_BACK, told_time=told),
            RunReport(3, "b:1", failed, RunCause.TASK, "ValueError", "a line", told, start, 0.5),
        )
        here.server.failures[1] = SessionFailure("ValueError", "a line", task.packed_id, runs)

        with pytest.raises(TaskException) as caught:
            task.wait()

        lines = str(caught.value).splitlines()
        assert "Before, run 1 on a:1 failed after 2.5 s (its executor ended):" in lines
        assert "killed by signal 9" in lines
        assert "c:1" not in str(caught.value)
        error = caught.value
        assert [(run.number, run.state, run.cause) for run in error.runs] == [
            (1, "failed", "executor"),
            (2, "withdrawn", "taken back"),
            (3, "failed", "task"),
        ]
        assert [run.duration for run in error.runs] == [2.5, None, 0.5]
        assert error.failed_tries == [error.runs[0], error.runs[2]]
        assert (error.governor, error.start_time, error.duration) == ("b:1", start, 0.5)
        assert task.info is not None
        assert task.info.runs == error.runs
        assert task.info.failed_tries == error.failed_tries
        assert TaskInfo.from_json(task.info.to_json()) == task.info


def test_a_choice_of_what_a_failure_means_must_be_one(here: World) -> None:
    with pytest.raises(RainException, match="on_failure is 'ignore'; it must be \"stop\" or"):
        here.client.new_session(on_failure="ignore")


@pytest.mark.parametrize("cause", [*RUN_FACTS[RunState.FAILED].causes, RunCause.GOVERNOR])
def test_an_earlier_run_is_told_of_whatever_ended_it(here: World, cause: RunCause) -> None:
    with here.session:
        task = created_here()
        here.session.submit()
        state = RunState.LOST if cause is RunCause.GOVERNOR else RunState.FAILED
        runs = (
            RunReport(1, "a:1", state, cause, "what was said"),
            RunReport(2, "b:1", RunState.FAILED, RunCause.TASK, "ValueError"),
        )
        here.server.failures[1] = SessionFailure("ValueError", "", task.packed_id, runs)

        with pytest.raises(TaskException, match=r"Before, run 1 on a:1 failed \(.+\):"):
            task.wait()
