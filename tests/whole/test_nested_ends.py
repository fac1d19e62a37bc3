"""Tasks that submit tasks and are cancelled, die or end before these, on real governors."""

import asyncio
import concurrent.futures
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rain.client import (
    Client,
    get_client,
)
from tests.support.modes import MODES, client_in, in_processes

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_in(request.param, cpus=1) as made:
        yield made


@in_processes
def test_an_awaiting_task_that_is_cancelled_alone_leaves_its_own_running(
    client: Client, tmp_path: Path
) -> None:
    async def wait(mark: str) -> None:
        await get_client().submit(lasting, mark)

    def outside(mark: str) -> None:
        asyncio.run(wait(mark))

    future = client.submit(outside, str(tmp_path))
    until(tmp_path / "started")
    assert future.cancel(recursive=False)
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    (tmp_path / "go").touch()
    until(tmp_path / "ended")


def inner(mark: str) -> None:
    try:
        Path(mark, "started").touch()
        threading.Event().wait(300)
    except KeyboardInterrupt:
        Path(mark, "interrupted").touch()


def outer(mark: str) -> None:
    get_client().submit(inner, mark).result()


@in_processes
def test_a_cancelled_task_takes_what_it_has_submitted_along(client: Client, tmp_path: Path) -> None:
    future = client.submit(outer, str(tmp_path))
    until(tmp_path / "started")
    future.cancel()
    until(tmp_path / "interrupted")
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert client.submit(abs, -1).result() == 1


def lasting(mark: str) -> None:
    Path(mark, "started").touch()
    while not Path(mark, "go").exists():
        time.sleep(0.01)
    Path(mark, "ended").touch()


def waits_and_cleans_up(mark: str) -> None:
    futures = get_client().map(lasting, [mark])
    try:
        get_client().gather(futures)
    except KeyboardInterrupt:
        Path(mark, "interrupted").touch()
        raise


@in_processes
def test_what_a_task_has_submitted_goes_on_when_the_task_is_cancelled_alone(
    client: Client, tmp_path: Path
) -> None:
    future = client.submit(waits_and_cleans_up, str(tmp_path))
    until(tmp_path / "started")
    assert future.cancel(recursive=False)
    until(tmp_path / "interrupted")
    (tmp_path / "go").touch()
    until(tmp_path / "ended")


@in_processes
def test_it_goes_on_when_the_process_of_the_cancelled_task_is_killed(
    client: Client, tmp_path: Path
) -> None:
    future = client.submit(outer_of(lasting), str(tmp_path))
    until(tmp_path / "started")
    assert future.cancel(recursive=False, grace=0)
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    (tmp_path / "go").touch()
    until(tmp_path / "ended")


def outer_of(child: Callable[[str], None]) -> Callable[[str], None]:
    def parent(mark: str) -> None:
        get_client().submit(child, mark).result()

    return parent


def counted(mark: str, number: int) -> int:
    with Path(mark, "made").open("a") as made:
        made.write(f"{number}\n")
    return abs(number)


def add_all(*numbers: int) -> int:
    return sum(numbers)


def dies_once(mark: str) -> int:
    client = get_client()
    found = client.map(counted, [mark] * 3, [-1, -2, -3])
    total = client.submit(add_all, *found)
    result = client.submit(counted, mark, total).result()
    if not Path(mark, "died").exists():
        Path(mark, "died").touch()
        os._exit(3)
    return result


@in_processes
def test_a_task_whose_process_has_died_finds_what_its_tasks_have_made(
    client: Client, tmp_path: Path
) -> None:
    assert client.submit(dies_once, str(tmp_path)).result() == 6
    assert sorted((tmp_path / "made").read_text().split()) == ["-1", "-2", "-3", "6"]


class Box:
    """Something that only cloudpickle sends, with futures in it and much else."""

    def __init__(self, futures: list[Any], size: int) -> None:
        self.futures = futures
        self.rest = bytes(size)


def add_results(mark: str, *boxes: Any) -> int:
    found = [future.result() for box in boxes for future in getattr(box, "futures", box)]
    return counted(mark, sum(found))


def dies_once_with_futures_everywhere(mark: str) -> int:
    client = get_client()
    parts = client.map(counted, [mark] * 3, [-1, -2, -3])
    in_a_list = client.submit(add_results, mark, parts[:2])
    in_a_large_argument = client.submit(add_results, mark, Box([in_a_list, parts[2]], 300_000))
    put = client.put(Box([parts[0], parts[1], parts[0]], 50_000))
    in_what_was_put = client.submit(add_results, mark, put, Box(parts, 0))
    total: int = client.submit(add_all, in_a_large_argument, in_what_was_put).result()
    if not Path(mark, "died").exists():
        Path(mark, "died").touch()
        os._exit(3)
    return total


@in_processes
def test_the_next_run_finds_calls_with_futures_and_much_data_inside_of_arguments(
    client: Client, tmp_path: Path
) -> None:
    assert client.submit(dies_once_with_futures_everywhere, str(tmp_path)).result() == 16
    made = (tmp_path / "made").read_text().split()
    assert sorted(made) == ["-1", "-2", "-3", "10", "3", "6"], "each was made once"


def until(path: Path) -> None:
    """Polls, since another process makes the file."""
    while not path.exists():
        time.sleep(0.01)


def leaves_one_behind(mark: str) -> str:
    client = get_client()
    client.keeps = client.submit(inner, mark)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue] # so that it is not collected
    while not Path(mark, "started").exists():
        client.submit(abs, 1).result()
    return "done"


def test_what_a_task_has_not_waited_for_ends_with_it(tmp_path: Path) -> None:
    with Client(cpus=2) as client:
        assert client.submit(leaves_one_behind, str(tmp_path)).result() == "done"
        until(tmp_path / "interrupted")


def note_and_wait(folder: str) -> int:
    (Path(folder) / str(os.getpid())).touch()
    with Path(folder, "pipe").open() as words:
        words.readline()
    return 7


def submit_and_die_once(folder: str) -> int:
    future = get_client().submit(note_and_wait, folder)
    marker = Path(folder) / "died"
    if marker.exists():
        with Path(folder, "pipe").open("w") as words:
            words.write("go on")
        return future.result()
    while len(list(Path(folder).iterdir())) < 2:  # the pipe, and the note of the child
        time.sleep(0.01)
    marker.touch()
    os._exit(1)


def test_a_task_that_has_lost_its_process_finds_the_call_that_still_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Client(cpus=2) as client:
        assert client.submit(submit_and_die_once, str(tmp_path)).result() == 7
    notes = {path.name for path in tmp_path.iterdir()} - {"pipe", "died"}
    assert len(notes) == 1, "it was run once"
