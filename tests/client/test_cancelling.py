"""Tasks that a program cancels: what the server is told, and what becomes of them for real."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rain.base.failures import OnFailure
from rain.base.wire.grace import OWN_GRACE
from rain.client import (
    CancelledError,
    Client,
    Program,
    RainException,
    Session,
    TaskException,
    remote,
)
from rain.client.rpc.common import TaskState
from tests.client.fake import World
from tests.support.pipes import named_pipe
from tests.support.waiting import until_now


@remote(auto_load=True, auto_encode="pickle")
def double(ctx: Any, x: int) -> int:
    return 2 * x


@remote(auto_encode="pickle")
def process(ctx: Any) -> int:
    return os.getpid()


@remote()
def clean_up(ctx: Any, pipe: str, path: str) -> str:
    try:
        Path(pipe).write_text("here\n")
        time.sleep(60)
    finally:
        Path(path).write_text(str(os.getpid()))
    return "never"


def test_a_session_cancels_tasks_and_what_makes_objects_even_if_somebody_waits(here: World) -> None:
    session = here.client.new_session("goes on", on_failure="continue")
    task, other = double(1, session=session), double(2, session=session)
    session.submit()
    session.cancel([task, other.output])
    assert here.server.cancelled == [([task.packed_id], [other.output.packed_id], False)]
    assert here.server.always


def test_a_session_says_how_tasks_are_cancelled(here: World) -> None:
    session = here.client.new_session("goes on", on_failure="continue")
    task = double(1, session=session)
    session.submit()
    task.cancel()
    session.cancel([task], recursive=False, grace=2.5)
    assert here.server.cancelled_hows == [(True, OWN_GRACE), (False, 2.5)]


@pytest.mark.parametrize("grace", [-1, float("nan"), float("inf"), 1e9, "soon"])
def test_what_is_no_time_to_clean_up_is_refused_by_name(here: World, grace: Any) -> None:
    session = here.client.new_session("goes on", on_failure="continue")
    task = double(1, session=session)
    session.submit()
    with pytest.raises(ValueError, match="it must be a number of seconds from 0 to 86400"):
        task.cancel(grace=grace)
    assert not here.server.cancelled


def test_a_task_cancels_itself(here: World) -> None:
    session = here.client.new_session("goes on", on_failure="continue")
    task = double(1, session=session)
    session.submit()
    task.cancel()
    assert here.server.cancelled == [([task.packed_id], [], False)]


def test_what_was_not_submitted_cannot_be_cancelled(here: World) -> None:
    session = here.client.new_session("goes on", on_failure="continue")
    with pytest.raises(RainException, match="not submitted"):
        double(1, session=session).cancel()


def test_in_a_session_that_stops_nothing_is_cancelled_alone(here: World) -> None:
    task = double(1, session=here.session)
    here.session.submit()
    with pytest.raises(RainException, match=r'new_session\(on_failure="continue"\)'):
        task.cancel()
    assert not here.server.cancelled


def test_a_client_that_has_only_joined_a_session_cannot_cancel(here: World) -> None:
    joined = here.client.join_session(here.session.session_id)
    joined.on_failure = OnFailure.CONTINUE
    task = double(1, session=joined)
    joined.submit()
    with pytest.raises(RainException, match="opened by another client"):
        task.cancel()
    assert not here.server.cancelled


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(cpus=1) as made:
        yield made


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    with client.new_session("goes on", on_failure="continue") as session:
        yield session


@pytest.mark.whole
def test_a_running_function_that_is_cancelled_cleans_up_and_its_process_works_on(
    session: Session, tmp_path: Path
) -> None:
    path = tmp_path / "cleaned"
    with named_pipe(tmp_path / "pipe") as pipe:
        stays = clean_up(pipe.path, str(path))
        depends = double(stays.output)
        session.submit()
        pipe.hear()
        stays.cancel()
        # On the only cpu, so after it:
        again = session.compute(process()).load()
        assert path.read_text() == str(again)
        for cancelled in (stays, depends):
            with pytest.raises(CancelledError, match="it was cancelled"):
                cancelled.wait()
            assert cancelled.state is TaskState.cancelled
        done, _ = session.wait_some([depends])
        assert done == [depends]
        session.update([stays, depends])
        assert [task.state for task in (stays, depends)] == [TaskState.cancelled] * 2
        assert stays.info is not None
        (run,) = stays.info.runs
        assert (run.state, run.cause) == ("withdrawn", "cancelled")


@pytest.mark.whole
def test_a_running_program_that_is_cancelled_cleans_up(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "cleaned"
    line = f"trap 'echo cleaned > {path}; exit 3' INT; echo here > {tmp_path}/pipe; sleep 60 & wait"
    with named_pipe(tmp_path / "pipe") as pipe:
        program = Program(["sh", "-c", line])()
        session.submit()
        pipe.hear()
        program.cancel()
        with pytest.raises(TaskException, match="it was cancelled"):
            program.wait()
        until_now(path.exists)


@pytest.mark.whole
def test_a_future_that_is_cancelled_lets_its_call_clean_up(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "cleaned"

    def stay(pipe: str) -> None:
        try:
            Path(pipe).write_text("here\n")
            time.sleep(60)
        finally:
            path.write_text(str(os.getpid()))

    with named_pipe(tmp_path / "pipe") as pipe:
        future = client.submit(stay, pipe.path)
        future.status  # noqa: B018 # does not wait
        pipe.hear()
        assert future.cancel()
        assert client.submit(os.getpid).result() == int(path.read_text())


@pytest.mark.whole
def test_what_is_kept_and_done_stays(session: Session) -> None:
    done = double(1)
    done.output.keep()
    session.submit()
    session.wait([done])
    done.cancel()
    assert done.output.fetch().load() == 2
