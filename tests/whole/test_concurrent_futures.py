"""Executors on a real cluster, used by code that knows only `concurrent.futures` and asyncio."""

import asyncio
import concurrent.futures
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, ConnectionException, TaskException
from tests.support.waiting import until_now

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def client() -> Generator[Client, None, None]:
    with Client(cpus=2) as client:
        yield client


def waits_for(file: Path, mark: Path) -> str:
    """Leaves a mark when it has started, and ends when there is the file."""
    mark.touch()
    until_now(file.exists)
    return "ended"


def broken() -> None:
    raise ValueError("no such model")


def pids(count: int) -> list[int]:
    return [os.getpid()] * count


def append(folder: Path) -> None:
    with (folder / f"{os.getpid()}").open("a", encoding="utf-8") as file:
        file.write("here\n")


def test_what_runs_is_left_alone_and_what_waits_is_cancelled(
    client: Client, tmp_path: Path
) -> None:
    pool = client.executor(cpus=2)
    first = pool.submit(waits_for, tmp_path / "go", tmp_path / "first")
    second = pool.submit(waits_for, tmp_path / "go", tmp_path / "second")
    until_now(first.running)
    assert not second.running()
    assert not first.cancel()
    pool.shutdown(wait=False, cancel_futures=True)
    (tmp_path / "go").touch()
    pool.shutdown()
    assert second.cancelled()
    assert first.result() == "ended"
    assert not (tmp_path / "second").exists()


def test_exceptions_keep_their_type(client: Client) -> None:
    with client.executor() as pool:
        for results in (pool.map(int, ["1", "x"]), pool.map(int, ["1", "x"], chunksize=2)):
            with pytest.raises(ValueError, match="invalid literal"):
                list(results)


def test_a_process_that_ends_under_its_call_ends_no_executor(client: Client) -> None:
    with client.executor() as pool:
        with pytest.raises(TaskException, match="exit code 3"):
            pool.submit(os._exit, 3).result()
        assert pool.submit(pow, 2, 3).result() == 8


def test_an_initializer_is_called_once_in_each_process(client: Client, tmp_path: Path) -> None:
    with client.executor(initializer=append, initargs=(tmp_path,)) as pool:
        worked = {pid for some in pool.map(pids, [1] * 50) for pid in some}
        worked |= {pid for some in pool.map(pids, [2] * 50, chunksize=10) for pid in some}
    assert {path.name for path in tmp_path.iterdir()} == {str(pid) for pid in worked}
    assert {path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"here\n"}


def test_a_failing_initializer_breaks_its_executor_alone(client: Client) -> None:
    with client.executor(initializer=broken) as pool, client.executor() as other:
        with pytest.raises(concurrent.futures.BrokenExecutor, match="no such model"):
            pool.submit(pow, 2, 3).result()
        with pytest.raises(concurrent.futures.BrokenExecutor, match="no such model"):
            pool.submit(pow, 2, 3)
        assert other.submit(pow, 2, 3).result() == 8


def test_futures_of_all_kinds_are_waited_for_together(client: Client) -> None:
    with client.executor() as ours, concurrent.futures.ThreadPoolExecutor() as threads:
        futures: set[concurrent.futures.Future[int]] = {
            ours.submit(pow, 2, 3),
            threads.submit(pow, 2, 4),
            client.submit(pow, 2, 5),
        }
        done, left = concurrent.futures.wait(futures, timeout=60)
        assert (done, left) == (futures, set())
        found = {future.result() for future in concurrent.futures.as_completed(futures)}
        assert found == {8, 16, 32}


def test_asyncio_runs_functions_in_the_executor(client: Client) -> None:
    async def main() -> tuple[int, int, int]:
        loop = asyncio.get_running_loop()
        with client.executor() as pool:
            small = await loop.run_in_executor(pool, pow, 2, 3)
            large = await loop.run_in_executor(pool, bytes, 1_000_000)
            with pytest.raises(ZeroDivisionError):
                await loop.run_in_executor(pool, divmod, 1, 0)
            return small, len(large), await asyncio.wrap_future(client.submit(pow, 2, 4))

    assert asyncio.run(main()) == (8, 1_000_000, 16)


def test_the_results_of_an_executor_are_arguments_of_other_calls(client: Client) -> None:
    with client.executor(max_workers=1) as pool:
        futures: list[Any] = [pool.submit(pow, 2, number) for number in range(5)]
        assert client.submit(pow, futures[-1], 2).result() == 256
        power: Any = pow
        assert pool.submit(power, futures[2], futures[1]).result() == 16


def test_closing_the_client_ends_the_calls_of_its_executors() -> None:
    with Client(cpus=1) as client:
        future = client.executor().submit(time.sleep, 60)
        held = client.executor(1)
        waiting = [held.submit(time.sleep, 60) for _ in range(3)]
    done, _ = concurrent.futures.wait([future, *waiting], 60)
    assert len(done) == 4
    for one in done:
        assert isinstance(one.exception(), ConnectionException)
    for late in (held, client):
        with pytest.raises(ConnectionException, match="the client is closed"):
            late.submit(pow, 2, 3)


PROGRAM = """
import atexit, os
from pathlib import Path
from rain.client import Client

STATE = "before"

def prepare(state):
    global STATE
    STATE = state

def note(path):
    Path(path).write_text(STATE)

def note_later(path):
    import time
    time.sleep(0.5)
    note(path)

def refused():
    try:
        pool.submit(int)
    except RuntimeError as error:
        print(error)

atexit.register(refused)
client = Client(cpus=1)
pool = client.executor(initializer=prepare, initargs=("prepared",))
pool.submit(note, os.path.abspath("first")).result()
pool.submit(note_later, os.path.abspath("second"))
"""


def test_a_program_waits_at_its_end_for_what_it_has_submitted(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == "cannot schedule new futures after interpreter shutdown\n"
    for name in ("first", "second"):
        assert (tmp_path / name).read_text(encoding="utf-8") == "prepared"
