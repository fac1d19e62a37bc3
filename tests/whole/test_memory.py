"""Tasks that take too much memory, with real daemons: they are ended and nothing else is."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.base.wire.answers import TaskMemory
from rain.client import Client, Program, TaskException
from tests.support.fences import groups_in, memory_place, processes_in
from tests.support.waiting import until_now
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole

MIB = 1024**2


def eat(mib: int, meet: str = "") -> int:
    """Eats memory, and holds it until as many others do the same, or for ever."""
    import time  # noqa: PLC0415 # it runs elsewhere

    held = bytearray(b"x") * (mib * 1024**2)
    while meet:
        time.sleep(0.1)
        if Path(meet).exists():
            break
    return len(held)


def test_what_takes_too_much_is_ended_and_the_rest_goes_on(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, "--memory", "300M") as working,
        Client("127.0.0.1", serving.port) as client,
    ):
        # A neighbour holds 100 MiB all the time.
        neighbour = client.submit(eat, 100, str(gate))

        # One more takes as much as there is.
        with pytest.raises(TaskException, match="the task took too much memory and was ended"):
            client.options(memory_tries=1).submit(eat, 500, str(tmp_path / "never")).result()

        # A program, too.
        code = f"x = b'x' * {500 * MIB}; import time; time.sleep(1000)"  # far below the wall
        hungry = Program([sys.executable, "-c", code], memory_tries=1)
        with client.new_session("program") as session:
            task = hungry()
            session.submit()
            with pytest.raises(TaskException, match="too much memory") as ended:
                session.wait_all()
        assert [run.cause for run in ended.value.runs] == ["memory"]
        assert ended.value.runs[0].peak_memory > 150 * MIB
        assert task.state is not None

        # The neighbour has noticed nothing.
        gate.touch()
        assert neighbour.result() == 100 * MIB
        assert [run.state for run in neighbour.info().runs] == ["finished"], neighbour.info().runs
        assert neighbour.info().peak_memory > 100 * MIB
        assert working.process.poll() is None


def test_a_running_task_shows_its_memory_and_how_much_of_its_inputs_it_maps(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1),
        Client("127.0.0.1", serving.port) as client,
    ):
        given = client.submit(np.zeros, 3 * MIB, np.uint8)
        holds = client.submit(hold, given, 100, str(gate))
        waits = client.submit(hold, given, 1, str(gate))
        until_now(lambda: (holds.memory() or TaskMemory()).now > 100 * MIB)
        memory = holds.memory()
        assert memory is not None
        assert memory.peak >= memory.now
        assert 3 * MIB <= memory.mapped < 4 * MIB
        assert waits.memory() is None

        gate.touch()
        assert holds.result() == 103 * MIB
        assert holds.memory() is None


def hold(given: np.ndarray[Any, Any], mib: int, meet: str) -> int:
    """Holds what it is given, and as much memory."""
    return len(given) + eat(mib, meet)


def test_two_that_are_too_large_together_run_one_after_the_other(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, "--memory", "300M"),
        Client("127.0.0.1", serving.port) as client,
    ):
        first = client.submit(eat, 170, str(gate))
        assert first.result() == 170 * MIB
        both = [client.submit(eat, 170, str(gate)) for _ in range(4)]
        assert [one.result() for one in both] == [170 * MIB] * 4
        # What the first one has had was set aside for each: nothing was ended.
        assert [run.state for one in both for run in one.info().runs] == ["finished"] * 4


def test_a_node_of_dask_that_takes_too_much_says_how_dask_takes_less(tmp_path: Path) -> None:
    dask: Any = import_module("dask")
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, "--memory", "200M"),
        Client("127.0.0.1", serving.port) as client,
        pytest.raises(TaskException, match="the task took too much memory and was ended") as ended,
    ):
        dask.delayed(eat)(400, str(tmp_path / "never")).compute(scheduler=client.dask)
    (advice,) = ended.value.__notes__
    assert "npartitions=" in advice
    assert "split_out=" in advice


def share(mib: int) -> int:
    """Takes memory that no sample sees, because it could be shared with other processes."""
    import ctypes  # noqa: PLC0415 # it runs elsewhere
    import mmap  # noqa: PLC0415

    held = mmap.mmap(-1, mib * 1024**2)
    ctypes.memset((ctypes.c_char * len(held)).from_buffer(held), 1, len(held))
    return len(held)


AT_THE_WALL = (
    r"the kernel has killed the process of the task, because all tasks of its governor together had"
    r" 424.8MiB, which is the most that their control group may have"
)
SMALL = ("--memory", "100M", "--store", "50M")


def test_what_no_sample_sees_is_ended_at_the_wall_and_the_rest_goes_on(tmp_path: Path) -> None:
    with (
        memory_place() as (group, on),
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, *SMALL, on=on) as working,
        Client("127.0.0.1", serving.port) as client,
    ):
        (wall,) = groups_in(group)
        gate = tmp_path / "gate"
        neighbour = client.submit(eat, 1, str(gate))
        assert client.submit(share, 50).result() == 50 * MIB
        with pytest.raises(TaskException, match=AT_THE_WALL) as ended:
            client.options(memory_tries=1).submit(share, 600).result()
        assert [run.cause for run in ended.value.runs] == ["memory"]
        assert ended.value.runs[0].peak_memory > 90 * MIB
        assert "beside it ran eat (" in str(ended.value)

        program = "import mmap; m = mmap.mmap(-1, 600 << 20); m.write(bytes(600 << 20))"
        with client.new_session("program") as session:
            Program([sys.executable, "-c", program], memory_tries=1)()
            session.submit()
            with pytest.raises(TaskException, match="memory") as ended:
                session.wait_all()
        assert [run.cause for run in ended.value.runs] == ["memory"]

        # The governor is outside, and its neighbour has noticed nothing.
        assert working.process.pid not in processes_in(wall)
        gate.touch()
        assert neighbour.result() == MIB
        assert [run.state for run in neighbour.info().runs] == ["finished"]
        working.end()
        assert groups_in(group) == []


def test_a_governor_that_was_killed_leaves_no_group_for_memory(tmp_path: Path) -> None:
    with (
        memory_place() as (group, on),
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, *SMALL, on=on) as working,
        Client("127.0.0.1", serving.port) as client,
    ):
        assert client.submit(len, "ab").result() == 2
        (wall,) = groups_in(group)
        assert processes_in(wall)
        working.kill()
        until_now(lambda: not groups_in(group))
