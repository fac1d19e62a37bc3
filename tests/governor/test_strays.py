"""Processes that have left the group of their executor end with the session, task or governor."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rain.base.executor_protocol import ORIGIN
from rain.base.ids import SessionId
from rain.base.wire.orders import Orders
from rain.client import Client, remote
from rain.governor.machine.strays import marked
from tests.governor.running import Running, governed, is_alive
from tests.governor.test_whole import running
from tests.support.waiting import until, until_now

DAEMON = "setsid sleep 600 >/dev/null 2>&1 & echo $!"
"""Leaves a process behind whose parent ends at once."""


def leave_daemon(ctx: Any) -> int:
    """A process of another process group whose parent has gone."""
    command = ["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def test_the_words_of_a_governor_around_this_one_stay() -> None:
    assert marked({"A": "b"}, "t/e1") == {"A": "b", ORIGIN: "t/e1"}
    assert marked({ORIGIN: "outer/e4 outer/s1"}, "t/e1")[ORIGIN] == "outer/e4 outer/s1 t/e1"


@pytest.mark.whole
def test_what_finished_tasks_have_left_behind_goes_with_their_session(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        from_python = await governor.value(governor.call(governor.function(leave_daemon)))
        # It ends when what it leaves behind has left its group.
        far = "setsid sh -c 'echo $$ > far; exec sleep 600' >/dev/null 2>&1 &"
        script = f"{far} until test -s far; do :; done; cat far"
        config = {"args": ["sh", "-c", script], "in_paths": [], "out_paths": ["+out"]}
        ((_, said),) = await governor.outputs(governor.builtin("run", config))
        from_program = int(said)
        assert is_alive(from_python)
        assert is_alive(from_program)
        executors = len(governor.executors)

        governor.order(Orders(forget_sessions=[SessionId(1)]))

        await until(lambda: not is_alive(from_python) and not is_alive(from_program))
        assert len(governor.executors) == executors  # which is warm, and ran on

    governed(tmp_path, scenario)


@pytest.mark.whole
def test_what_a_stopped_task_has_started_ends_wherever_it_has_gone(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    def leave_and_wait(ctx: Any, path: str) -> None:
        daemon = subprocess.run(["sh", "-c", DAEMON], stdout=subprocess.PIPE, check=True).stdout
        bare = subprocess.Popen(
            ["env", "-i", "sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL
        )
        Path(path).write_text(f"{int(daemon)} {bare.pid}\n")
        signal.pause()

    async def scenario(governor: Running) -> None:
        call = governor.call(governor.function(leave_and_wait), str(pids))
        await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        started = [int(pid) for pid in pids.read_text().split()]
        assert all(map(is_alive, started))

        governor.stop(call)

        await until(lambda: not any(map(is_alive, started)))

    governed(tmp_path, scenario)


@pytest.mark.whole
def test_what_a_stopped_program_has_started_ends_wherever_it_has_gone(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    async def scenario(governor: Running) -> None:
        script = f"setsid sleep 600 >/dev/null 2>&1 & echo $! > {pid_file}; sleep 600"
        config = {"args": ["sh", "-c", script], "in_paths": [], "out_paths": ["+out"]}
        run = governor.builtin("run", config)
        await until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
        daemon = int(pid_file.read_text())

        governor.stop(run)

        await until(lambda: not is_alive(daemon))

    governed(tmp_path, scenario)


@remote(auto_encode="pickle")
def leave(ctx: Any) -> int:
    """As `leave_daemon`, for a client."""
    command = ["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


@pytest.mark.whole
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_tasks_have_left_behind_ends_with_their_governor(
    tmp_path: Path, how: signal.Signals
) -> None:
    with running(tmp_path) as (server, governor):
        name, _, port = server.address.rpartition(":")
        with Client(name, port) as client, client.new_session("left") as session:
            task = leave()
            task.output.keep()
            session.submit()
            daemon = task.output.fetch().load()
            assert is_alive(daemon)
            governor.end(how)
            until_now(lambda: not is_alive(daemon))
