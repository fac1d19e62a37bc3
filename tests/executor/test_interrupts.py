"""A call that is stopped gets a KeyboardInterrupt, and nothing else does; in a real process."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from rain.base import executor_protocol as protocol
from tests.executor.child import Child
from tests.executor.test_unit import Step, run
from tests.support.pipes import NamedPipe, named_pipe


@pytest.fixture
def running(tmp_path: Path) -> Generator[NamedPipe]:
    """Where a task says that it runs."""
    with named_pipe(tmp_path / "running") as pipe:
        yield pipe


def begin(executor: Child, function: Callable[..., Any], *args: Any) -> None:
    """Sends a call, and does not wait for its answer."""
    kind, row = executor.row(executor.remember(function), *args)
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [row], None)


def sleep(ctx: Any, path: str) -> str:
    Path(path).write_text("here\n")
    time.sleep(60)
    return "slept"


def clean_up(ctx: Any, path: str) -> str:
    try:
        Path(path).write_text("here\n")
        time.sleep(60)
    except KeyboardInterrupt:
        return "cleaned"
    return "slept"


def test_the_call_that_runs_is_interrupted_and_the_process_goes_on(
    executor: Child, running: NamedPipe
) -> None:
    begin(executor, sleep, running.path)
    running.hear()
    executor.interrupt(1)
    assert "KeyboardInterrupt" in executor.answer()[2]
    assert executor.value(lambda ctx: os.getpid()) == executor.process.pid


def test_the_function_may_clean_up(executor: Child, running: NamedPipe) -> None:
    begin(executor, clean_up, running.path)
    running.hear()
    executor.interrupt(1)
    assert executor.answer()[2] != "slept"
    assert executor.process.poll() is None


@pytest.mark.parametrize("stopped", [1, 3])
def test_another_call_than_the_one_that_runs_is_not_interrupted(
    executor: Child, running: NamedPipe, stopped: int
) -> None:
    # given: the second call runs
    def wait(ctx: Any, path: str) -> str:
        Path(path).write_text("here\n")
        time.sleep(0.3)
        return "done"

    assert executor.value(lambda ctx: 1) == 1
    begin(executor, wait, running.path)
    running.hear()
    # when: the one before it, or the one after it, is stopped
    executor.interrupt(stopped)
    # then
    assert isinstance(executor.answer()[2], list)


def test_a_call_that_is_stopped_before_it_begins_does_not_begin(executor: Child) -> None:
    assert executor.value(lambda ctx: 1) == 1
    executor.interrupt(2)
    assert "KeyboardInterrupt" in executor.failure(lambda ctx: 1)
    assert executor.value(lambda ctx: 3) == 3


def test_a_call_is_interrupted_once(executor: Child, running: NamedPipe) -> None:
    def stubborn(ctx: Any, path: str) -> str:
        try:
            Path(path).write_text("here\n")
            time.sleep(60)
        except KeyboardInterrupt:
            Path(path).write_text("again\n")
            time.sleep(0.3)
        return "cleaned"

    begin(executor, stubborn, running.path)
    running.hear()
    executor.interrupt(1)
    running.hear()
    executor.interrupt(1)
    assert isinstance(executor.answer()[2], list)


def test_a_unit_is_interrupted_as_a_whole_also_where_a_member_takes_no_notice(
    executor: Child, running: NamedPipe
) -> None:
    path = running.path

    def interrupt() -> None:
        running.hear()
        executor.interrupt(1)

    stopper = threading.Thread(target=interrupt)
    stopper.start()
    steps = [Step(lambda ctx: clean_up(ctx, path), (), inputs=()), Step(lambda ctx, before: before)]
    answer = run(executor, steps)
    stopper.join()
    assert "2 of 2" in answer[2]
    assert "KeyboardInterrupt" in answer[2]
    assert executor.value(lambda ctx: 1) == 1


def test_signals_that_are_not_from_the_governor_are_ignored(executor: Child) -> None:
    def signal_myself(ctx: Any) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "done"

    os.kill(executor.process.pid, signal.SIGINT)
    assert executor.value(signal_myself) == "done"


def test_a_handler_that_a_call_has_left_is_not_there_for_the_next_one(
    executor: Child, running: NamedPipe
) -> None:
    assert executor.value(lambda ctx: signal.signal(signal.SIGINT, signal.SIG_IGN) and 1) == 1
    begin(executor, sleep, running.path)
    running.hear()
    executor.interrupt(2)
    assert "KeyboardInterrupt" in executor.answer()[2]


def test_a_program_that_a_call_runs_ends_with_it(executor: Child, running: NamedPipe) -> None:
    def run(ctx: Any, path: str) -> None:
        subprocess.run(["sh", "-c", f"echo here > {path}; exec sleep 60"], check=True)

    begin(executor, run, running.path)
    running.hear()
    executor.interrupt(1)
    assert "KeyboardInterrupt" in executor.answer()[2]


def test_a_process_with_a_thread_of_an_interrupted_call_ends_without_an_answer(
    executor: Child, running: NamedPipe
) -> None:
    def start_a_thread(ctx: Any, path: str) -> None:
        import threading  # noqa: PLC0415 # in the executor

        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        Path(path).write_text("here\n")
        time.sleep(60)

    begin(executor, start_a_thread, running.path)
    running.hear()
    executor.interrupt(1)
    assert executor.process.wait(20) == 0
    with pytest.raises(EOFError, match="no answer"):
        executor.answer()
