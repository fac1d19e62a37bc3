"""A value in one call: `session.compute`."""

import pytest

from rain.base.errors import SessionFailedError
from rain.base.failures import SessionFailure
from rain.client import RainException, TaskException, remote
from rain.client.rpc.common import DataObjectState, TaskState
from tests.client.fake import World


@remote()
def work(ctx: object, value: object = None) -> object:
    return value


def test_compute_keeps_submits_waits_and_fetches_with_one_call(here: World) -> None:
    with here.session as session:
        task = work(1)
        here.server.outputs[task.output.packed_id] = b"result"

        result = session.compute(task)

        assert result.get_bytes() == b"result"
        assert here.server.calls[-3:] == ["begin", "submit", "wait"]
        assert here.server.submissions[-1].fails_alone
        assert task.output.is_kept()
        assert task.output.state is DataObjectState.finished
        assert task.state is TaskState.finished


def test_compute_submits_all_that_is_pending_and_only_that(here: World) -> None:
    with here.session as session:
        first, second = work(1), work(2)

        assert len(session.compute_all([first, second.output])) == 2
        assert session.task_count == 0

        # and when: nothing is new any more
        again = session.compute_all([second, first])

        assert len(again) == 2
        assert len(here.server.submissions) == 1


def test_compute_of_what_was_submitted_and_not_kept_is_refused_and_changes_nothing(
    here: World,
) -> None:
    with here.session as session:
        submitted = work(1)
        session.submit()
        pending = work(2)

        with pytest.raises(RainException, match="not kept"):
            session.compute_all([pending, submitted])

        assert not pending.output.is_kept()
        assert session.task_count == 1


def test_compute_of_another_sessions_task_is_refused_and_changes_nothing(here: World) -> None:
    other = here.client.new_session()
    with other.bind_only():
        foreign = work(1)
    with here.session as session:
        pending = work(2)

        with pytest.raises(RainException, match="another session"):
            session.compute_all([pending, foreign])

        assert not pending.output.is_kept()
        assert not foreign.output.is_kept()
        assert session.task_count == 1


def test_a_failed_session_is_told_by_compute(here: World) -> None:
    with here.session as session:
        task = work(1)
        here.server.errors["wait"] = SessionFailedError(
            SessionFailure("it broke", task=task.packed_id)
        )

        with pytest.raises(TaskException, match="it broke"):
            session.compute(task)
        assert task.state is TaskState.failed
