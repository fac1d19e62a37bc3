"""What tasks print, on whatever way, can be read afterwards, and comes with their errors."""

import ctypes
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, RainException, Session, TaskException, remote, tasks
from tests.client.fake import World
from tests.support.pipes import named_pipe
from tests.support.root_logger import fresh_root_logger
from tests.support.waiting import until_now

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Client(cpus=1) as client, client.new_session("logs", on_failure="continue") as made:
        yield made


@remote(auto_encode="pickle")
def talk(ctx: Any, name: str) -> None:
    print("I am", name)  # noqa: T201 # as users do
    subprocess.run(["/bin/echo", "a child of", name], check=True)
    ctypes.pythonapi.puts(f"in C: {name}".encode())
    warnings.warn(f"beware of {name}", stacklevel=1)
    logging.getLogger("test").warning("logged by %s", name)


@remote(auto_encode="pickle")
def talk_and_wait(ctx: Any, pipe: str) -> None:
    print("so far")  # noqa: T201 # as users do
    with Path(pipe).open() as words:
        words.readline()
    print("later")  # noqa: T201 # as users do


@remote(auto_encode="pickle")
def log_info(ctx: Any, text: str) -> None:
    logging.getLogger("test").info(text)


@remote(auto_encode="pickle")
def log_without_a_thought(ctx: Any) -> None:
    logging.info("too low to be seen")  # noqa: LOG015 # as users do


@remote(auto_encode="pickle")
def set_up_and_log(ctx: Any) -> None:
    try:
        logging.basicConfig(level=logging.INFO)
        logging.info("seen")  # noqa: LOG015 # as users do
    finally:
        logging.root.handlers.clear()
        logging.root.setLevel(logging.WARNING)


@remote(auto_encode="pickle")
def say_nothing(ctx: Any) -> None:
    pass


@remote(auto_encode="pickle")
def print_and_fail(ctx: Any, text: str) -> None:
    print(text)  # noqa: T201 # as users do
    print("trouble", file=sys.stderr)  # noqa: T201 # as users do
    raise ValueError("wrong")


@remote(auto_encode="pickle")
def print_and_die(ctx: Any) -> None:
    print("last words")  # noqa: T201 # as users do
    os._exit(3)


def test_each_task_has_what_it_has_printed_itself(session: Session) -> None:
    first, quiet, second = talk("first"), say_nothing(), talk("second")
    session.submit()
    session.wait_all()
    for task, name in ((first, "first"), (second, "second")):
        printed, _, warned = task.logs().partition("[stderr]\n")
        assert printed.splitlines() == [f"I am {name}", f"a child of {name}", f"in C: {name}"]
        assert f"UserWarning: beware of {name}" in warned
        assert f"logged by {name}" in warned
    assert quiet.logs() == ""


@fresh_root_logger()
def test_tasks_log_at_the_level_and_in_the_format_of_their_program(session: Session) -> None:
    def logs(text: str) -> str:
        task = log_info(text)
        session.compute(task)
        return task.logs()

    assert logs("before") == ""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s - %(message)s")
    assert logs("after") == "[stderr]\nINFO - after\n"
    logging.root.setLevel(logging.WARNING)
    assert logs("too low") == ""
    logging.root.handlers.clear()
    assert logs("none") == ""


@fresh_root_logger()
def test_a_task_sets_up_its_logging_whatever_another_one_has_logged(session: Session) -> None:
    first = log_without_a_thought()
    session.compute(first)
    second = set_up_and_log()
    session.compute(second)
    assert first.logs() == ""
    assert second.logs() == "[stderr]\nINFO:root:seen\n"


def test_a_task_that_runs_has_what_it_has_printed_so_far(session: Session, tmp_path: Path) -> None:
    with named_pipe(tmp_path / "pipe") as pipe:
        task = talk_and_wait(str(pipe.path))
        session.submit()
        until_now(task.logs)
        assert task.logs() == "so far\n"
        pipe.say()
        task.wait()
    assert task.logs() == "so far\nlater\n"


def test_a_client_that_has_joined_a_session_reads_what_its_tasks_have_printed(
    session: Session, tmp_path: Path
) -> None:
    with named_pipe(tmp_path / "pipe") as pipe:
        assert session.client is not None
        joined = session.client.join_session("logs")
        task = talk_and_wait(str(pipe.path), session=joined)
        joined.submit()
        until_now(task.logs)
        pipe.say()
        task.wait()
        assert task.logs() == "so far\nlater\n"
        joined.close()


def test_the_error_of_a_task_shows_what_it_has_printed(session: Session) -> None:
    task = print_and_fail("at first")
    session.submit()
    with pytest.raises(TaskException, match="wrong\nIts stdout:\nat first\nIts stderr:\ntrouble"):
        task.wait()
    assert task.logs() == "at first\n[stderr]\ntrouble\n"


def test_what_is_printed_without_end_is_kept_by_its_start_and_its_end(session: Session) -> None:
    task = print_and_fail("a" * 100_000 + "b" * 100_000)
    session.submit()
    with pytest.raises(TaskException) as caught:
        task.wait()
    assert len(str(caught.value)) < 10_000
    logs = task.logs()
    assert len(logs) < 70_000
    assert "bytes are left out here" in logs
    assert logs.startswith("aaa")
    assert "bbb\n[stderr]" in logs


def test_a_task_that_ends_its_process_has_logs_as_well(session: Session) -> None:
    task = print_and_die()
    session.submit()
    with pytest.raises(TaskException, match="last words"):
        task.wait()
    assert task.logs() == "last words\n"


@pytest.mark.parametrize("status", [0, 4])
def test_what_a_program_prints_is_kept_and_shown_when_it_fails(
    session: Session, status: int
) -> None:
    task = tasks.Execute(f"echo printed; echo trouble >&2; exit {status}", shell=True)
    session.submit()
    if status:
        with pytest.raises(TaskException, match="Its stderr:\ntrouble\nIts stdout:\nprinted"):
            task.wait()
    task.session.wait_some([task])
    assert task.logs() == "printed\n[stderr]\ntrouble\n"


def test_the_output_of_a_program_is_not_among_its_logs(session: Session) -> None:
    task = tasks.Execute("echo printed; echo trouble >&2", shell=True, stdout=True)
    session.submit()
    task.wait()
    assert task.logs() == "[stderr]\ntrouble\n"


def test_what_was_not_submitted_has_no_logs(here: World) -> None:
    task = talk("nobody", session=here.session)
    with pytest.raises(RainException, match="was not submitted"):
        task.logs()
    here.session.submit()
    assert task.logs() == f"printed by {task.packed_id}"
