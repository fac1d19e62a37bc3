"""Stopped tasks are interrupted and may clean up, in real processes."""

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import trio

from rain.base.ids import SessionId
from rain.base.wire.orders import Orders
from tests.governor.running import Running, governed, is_alive
from tests.governor.test_programs import shell
from tests.support.pipes import NamedPipe, named_pipe
from tests.support.waiting import until


@pytest.fixture
def running(tmp_path: Path) -> Generator[NamedPipe]:
    """Where a task says that it runs."""
    with named_pipe(tmp_path / "running") as pipe:
        yield pipe


async def heard(pipe: NamedPipe) -> str:
    """What a task says; the governor of this process works meanwhile."""
    return await trio.to_thread.run_sync(pipe.hear)


def write_at_the_end(ctx: Any, running: str, path: str) -> None:
    try:
        Path(running).write_text(f"{os.getpid()}\n")
        time.sleep(60)
    finally:
        time.sleep(0.1)
        Path(path).write_text("cleaned")


def take_no_notice(ctx: Any, running: str) -> None:
    has_said = False
    while True:
        try:
            if not has_said:
                has_said = True
                Path(running).write_text(f"{os.getpid()}\n")
            time.sleep(60)
        except KeyboardInterrupt:
            pass


def test_a_stopped_task_cleans_up_and_its_process_runs_the_next_one(
    tmp_path: Path, running: NamedPipe
) -> None:
    cleaned = tmp_path / "cleaned"

    async def scenario(governor: Running) -> None:
        # given
        function = governor.function(write_at_the_end)
        call = governor.call(function, running.path, str(cleaned))
        process = int(await heard(running))
        # when: it is stopped, and another one waits for its only cpu
        governor.stop(call)
        following = governor.call(
            governor.function(lambda ctx, path: (os.getpid(), Path(path).exists())), str(cleaned)
        )
        # then: that one runs in the same process, as soon as the first one has cleaned up
        assert await governor.value(following) == (process, True)
        assert not governor.server.failed
        assert list(governor.server.finished) != [call]

    governed(tmp_path, scenario, cpus=1)


def test_a_task_that_takes_no_notice_is_killed_when_the_grace_is_over(
    tmp_path: Path, running: NamedPipe
) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.call(governor.function(take_no_notice), running.path)
        process = int(await heard(running))
        stopped = time.monotonic()
        governor.stop(call)
        await until(lambda: not is_alive(process))
        assert time.monotonic() - stopped >= 0.3
        assert await governor.value(governor.call(governor.function(lambda ctx: 1))) == 1
        assert not governor.server.failed

    governed(tmp_path, scenario, cpus=1, grace=0.3)


def test_a_task_that_is_stopped_before_its_executor_has_begun_it_leaves_the_executor_alone(
    tmp_path: Path,
) -> None:
    """Whichever comes first to the executor, the call or the interrupt."""

    async def scenario(governor: Running) -> None:
        process = await governor.value(governor.call(governor.function(lambda ctx: os.getpid())))
        nap = governor.function(lambda ctx: time.sleep(60))
        for _ in range(30):
            governor.stop(governor.call(nap))
        last = governor.call(governor.function(lambda ctx: os.getpid()))
        assert await governor.value(last) == process

    governed(tmp_path, scenario, cpus=1)


def test_a_process_in_which_a_task_was_stopped_can_be_used_for_that_again(
    tmp_path: Path, running: NamedPipe
) -> None:
    async def scenario(governor: Running) -> None:
        function = governor.function(write_at_the_end)
        processes: set[str] = set()
        for name in ("first", "second"):
            path = tmp_path / name
            call = governor.call(function, running.path, str(path))
            processes.add(await heard(running))
            governor.stop(call)
            await until(path.exists)
        assert len(processes) == 1

    governed(tmp_path, scenario, cpus=1)


TRAP = """
trap 'sleep 0.1; echo cleaned > {cleaned}; exit 3' INT
echo $$ > {running}
sleep 60 &
wait
"""


@pytest.mark.parametrize("way", ["stopped", "session closed"])
def test_a_stopped_program_is_interrupted_and_cleans_up(
    tmp_path: Path, running: NamedPipe, way: str
) -> None:
    cleaned = tmp_path / "cleaned"

    async def scenario(governor: Running) -> None:
        run = governor.builtin("run", shell(TRAP.format(cleaned=cleaned, running=running.path)))
        process = int(await heard(running))
        if way == "stopped":
            governor.stop(run)
        else:
            governor.order(Orders(forget_sessions=[SessionId(1)]))
        await until(cleaned.exists)
        await until(lambda: not is_alive(process))
        assert not governor.server.failed

    governed(tmp_path, scenario)


def test_a_program_that_takes_no_notice_is_killed_when_the_grace_is_over(
    tmp_path: Path, running: NamedPipe
) -> None:
    async def scenario(governor: Running) -> None:
        line = f"trap '' INT; echo $$ > {running.path}; sleep 60"
        run = governor.builtin("run", shell(line))
        process = int(await heard(running))
        stopped = time.monotonic()
        governor.stop(run)
        await until(lambda: not is_alive(process))
        assert time.monotonic() - stopped >= 0.3
        assert not governor.server.failed

    governed(tmp_path, scenario, grace=0.3)


def test_a_governor_that_ends_waits_for_no_grace(tmp_path: Path, running: NamedPipe) -> None:
    processes: list[int] = []

    async def scenario(governor: Running) -> None:
        call = governor.call(governor.function(take_no_notice), running.path)
        processes.append(int(await heard(running)))
        governor.stop(call)

    began = time.monotonic()
    governed(tmp_path, scenario, grace=60.0)
    assert time.monotonic() - began < 30
    assert not is_alive(processes[0])
