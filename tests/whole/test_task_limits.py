"""What one task may have besides memory, with real daemons: descriptors and processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.client import Client, Program, TaskException
from tests.support.fences import fence, groups_in, processes_in
from tests.support.waiting import until_now
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


def test_a_task_that_leaks_descriptors_is_told_the_limit_of_its_governor(tmp_path: Path) -> None:
    def leak() -> None:
        """Opens files and closes none. Its executor has imported little, as it is no module's."""
        kept: list[object] = []
        while True:
            kept.append(open("/dev/null"))  # noqa: PTH123, SIM115 # it leaks

    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, "--task-descriptors", "90"),
        Client("127.0.0.1", serving.port) as client,
    ):
        with pytest.raises(OSError, match="Too many open files") as leaked:
            client.submit(leak).result()
        told = str(leaked.value.__notes__)
        assert "may have 90 files, sockets and pipes open" in told
        assert "--task-descriptors" in told

        # A program gets the same limit as soon as it has started, and cannot raise it.
        program = Program(
            ["sh", "-c", "until [ $(ulimit -Hn) = 90 ]; do :; done; ulimit -n"], stdout=True
        )
        with client.new_session("program") as session:
            task = program()
            task.keep_outputs()
            session.submit()
            session.wait_all()
            assert task.output.fetch().get_bytes() == b"90\n"


def fork() -> None:
    """A bomb."""
    import os  # noqa: PLC0415 # it runs elsewhere

    while True:
        os.fork()


# A program is put into its group when it has started: what it forks before that is outside.
IN_GROUP = "until grep -q rain- /proc/self/cgroup; do :; done; "
BOMB = ["bash", "-c", IN_GROUP + ":(){ :|:& };:; sleep 1000"]
SCATTERED = ["bash", "-c", IN_GROUP + "for i in {1..99}; do setsid sleep 1000 & done; wait"]

TOO_MANY = r"the task had [\d,]+ processes at the same time and may have 50, so it was ended with"


@pytest.mark.parametrize("may_make_groups", [True, False])
def test_a_bomb_of_forks_ends_with_all_its_processes_and_nothing_else_does(
    tmp_path: Path, may_make_groups: bool
) -> None:
    few = ("--task-processes", "50")
    # The wall of each task is at 1,200 processes, and its dead count until they are reaped.
    most = 4000 if may_make_groups else 1500
    with (
        fence(most, is_task=not may_make_groups) as (group, on),
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, *few, on=on) as working,
        Client("127.0.0.1", serving.port) as client,
    ):
        assert bool(groups_in(group)) is may_make_groups
        neighbour = client.submit(until_there, str(tmp_path / "gate"))
        with pytest.raises(TaskException, match=TOO_MANY):
            client.submit(fork).result()
        for words in (BOMB, SCATTERED):
            with client.new_session("program") as session:
                Program(words)()
                session.submit()
                with pytest.raises(TaskException, match=TOO_MANY) as ended:
                    session.wait_all()
            assert [run.cause for run in ended.value.runs] == ["task"]

        # Left are the governor with its warden, and executors: one is new.
        (tmp_path / "gate").touch()
        assert neighbour.result() == "there"
        until_now(lambda: len(processes_in(group)) <= 4)
        assert [run.state for run in neighbour.info().runs] == ["finished"]
        assert working.process.poll() is None


def test_a_governor_that_was_killed_leaves_no_group_and_no_process(tmp_path: Path) -> None:
    with (
        fence(500) as (group, on),
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, on=on) as working,
        Client("127.0.0.1", serving.port) as client,
    ):
        client.submit(leave_behind).result()
        (inside, *of_tasks) = groups_in(group)
        assert len([*map(processes_in, of_tasks)]) == 1
        assert len(processes_in(inside)) == 2
        working.kill()
        until_now(lambda: not groups_in(group) and not processes_in(group))


def until_there(path: str) -> str:
    """Waits for a file."""
    import time  # noqa: PLC0415 # it runs elsewhere

    while not Path(path).exists():
        time.sleep(0.05)
    return "there"


def leave_behind() -> None:
    """Leaves a process that nothing but its group connects with this one."""
    import subprocess  # noqa: PLC0415 # it runs elsewhere

    script = "setsid env -i sleep 1000 >/dev/null 2>&1 &"
    subprocess.run(["sh", "-c", script], check=True)
