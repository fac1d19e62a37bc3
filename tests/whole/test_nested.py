"""Tasks that submit tasks and wait for them, on real governors."""

import asyncio
import concurrent.futures
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from rain.client import (
    AsyncClient,
    Client,
    RainException,
    as_completed,
    get_client,
    remote,
    then,
)
from tests.support.modes import MODES, client_in, in_processes
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_in(request.param, cpus=1) as made:
        yield made


class Steps:
    """Has its client with it, as programs of classes do."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def first(self, number: int) -> int:
        return self.client.submit(self.second, number).result() + 1

    def second(self, number: int) -> int:
        return number * 10


def test_a_client_that_an_object_holds_is_that_of_the_task(client: Client) -> None:
    steps = Steps(client)
    assert client.gather(client.map(steps.first, range(3))) == [1, 11, 21]


def fib(n: int) -> int:
    if n < 2:
        return n
    one, other = get_client().map(fib, [n - 1, n - 2])
    return one.result() + other.result()


def test_a_recursion_with_a_task_for_each_call_ends_on_a_single_cpu(client: Client) -> None:
    assert client.submit(fib, 12).result() == 144


def test_a_task_of_a_cluster_without_a_secret_submits_tasks(tmp_path: Path) -> None:
    with (
        server(tmp_path, "--insecure") as running,
        governor(tmp_path, "governor", running.address, 1, "--insecure"),
        Client("127.0.0.1", running.port, insecure=True) as client,
    ):
        assert client.submit(fib, 2).result() == 1


def processes(depth: int) -> set[int]:
    """The processes in which a tree of tasks was run."""
    if not depth:
        return {os.getpid()}
    found = get_client().gather(get_client().map(processes, [depth - 1] * 3))
    return {os.getpid()}.union(*found)


def test_a_tree_needs_as_many_processes_as_it_is_deep(client: Client) -> None:
    assert len(client.submit(processes, 3).result()) <= 4


def plain(number: int) -> int:
    return abs(number)


def wait_in_every_way(numbers: list[int]) -> list[int]:
    client = get_client()
    futures = client.map(plain, numbers)
    first = sorted(future.result() for future in as_completed(futures))
    done, rest = client.wait(client.map(plain, numbers))
    assert not rest
    second = sorted(client.gather(done))
    third = sorted(client.get(client.map(plain, numbers)))
    assert client.submit(abs, -7).exception() is None
    assert first == second == third
    return first


def test_every_way_to_wait_lets_others_have_the_cpu(client: Client) -> None:
    assert client.submit(wait_in_every_way, [-3, -1, -2]).result() == [1, 2, 3]


async def fib_awaited(n: int) -> int:
    one, other = get_client().map(fib_in_asyncio, [n - 1, n - 2])
    return await one + await other


def fib_in_asyncio(n: int) -> int:
    return n if n < 2 else asyncio.run(fib_awaited(n))


@in_processes
def test_a_task_that_awaits_lets_others_have_the_cpu(client: Client) -> None:
    assert client.submit(fib_in_asyncio, 5).result() == 5


async def total_of(numbers: list[int]) -> int:
    async with AsyncClient() as client:
        total: int = sum(await client.gather(client.map(plain, numbers)))
        each = client.as_completed(client.map(plain, numbers))
        return total + sum([await future async for future in each])


@in_processes
def test_an_async_client_in_a_task_is_that_of_the_task(client: Client) -> None:
    def in_asyncio(numbers: list[int]) -> int:
        return asyncio.run(total_of(numbers))

    def in_trio(numbers: list[int]) -> int:
        return trio.run(total_of, numbers)

    assert client.submit(in_asyncio, [-1, -2]).result() == 6
    assert client.submit(in_trio, [-1, -2]).result() == 6


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


@remote(auto_load=True, auto_encode="pickle")
def twice_by_a_task(ctx: Any, number: int) -> int:
    return int(get_client().submit(plain, number).result()) * 2


def test_the_calls_of_a_fused_chain_may_wait(client: Client) -> None:
    with client.new_session("chain") as session:
        last = twice_by_a_task(twice_by_a_task(twice_by_a_task(1)))
        last.output.keep()
        session.submit(fuse=True)
        assert last.output.fetch().load() == 8


def waits_for(inner: int) -> str:
    try:
        get_client().submit(divmod, inner, 0).result()
    except ZeroDivisionError as error:
        return str(error)
    return "no error"


def test_the_exception_of_an_inner_task_is_caught_in_the_outer_one(client: Client) -> None:
    assert "by zero" in client.submit(waits_for, 1).result()


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


def test_too_many_tasks_that_wait_are_refused_by_name(tmp_path: Path) -> None:
    with (
        server(tmp_path) as host,
        governor(tmp_path, "only", host.address, 1, "--most-blocked", "3"),
        Client("127.0.0.1", host.port) as client,
    ):
        with pytest.raises(RainException, match="lets 3 wait at once"):
            client.submit(fib, 8).result()
        assert client.submit(fib, 3).result() == 2


def test_get_client_is_for_tasks() -> None:
    with pytest.raises(RainException, match="the client of the running task"):
        get_client()


def test_sessions_and_executors_work_in_tasks(client: Client) -> None:
    def total(numbers: list[int]) -> int:
        with get_client().executor() as pool:
            return sum(pool.map(plain, numbers))

    assert client.submit(total, [-1, -2]).result() == 3


def countdown(n: int, seen: int = 0) -> int:
    return seen if not n else then(countdown, n - 1, seen + 1)


def test_a_loop_of_calls_that_hand_on_ends_on_a_single_cpu(client: Client) -> None:
    assert client.submit(countdown, 40).result() == 40


def raise_key_error(key: str) -> int:
    raise KeyError(key)


def hand_on_to_a_failure(key: str) -> int:
    return then(raise_key_error, key)


def test_a_task_that_hands_on_raises_what_the_other_task_raises(client: Client) -> None:
    future = client.submit(hand_on_to_a_failure, "lost")
    with pytest.raises(KeyError, match="lost"):
        future.result()
    assert future.status == "error"


def add(a: int, b: int) -> int:
    return a + b


def fib_without_waiting(n: int) -> int:
    if n < 2:
        return n
    return then(add, *get_client().map(fib_without_waiting, [n - 1, n - 2]))


def test_a_tree_of_calls_none_of_which_waits(client: Client) -> None:
    result = client.submit(fib_without_waiting, 6)
    assert client.submit(add, result, 1).result() == 9, "others may read what is handed on"


def zeros(size: int) -> bytes:
    return bytes(size)


def hand_on_to_a_future(size: int) -> bytes:
    return then(get_client().submit(zeros, size))


def test_a_task_may_hand_on_to_a_future_of_any_size(client: Client) -> None:
    assert client.submit(hand_on_to_a_future, 1_000_000).result() == bytes(1_000_000)


@remote(auto_encode="pickle")
def climb(ctx: Any, n: int) -> Any:
    return ctx.then(climb, n - 1) if n else "up"


def test_a_function_with_a_context_hands_on_by_it(client: Client) -> None:
    with client.new_session() as session:
        task = climb(3)
        assert session.compute(task).load() == "up"


def hand_on_inside(n: int) -> list[int]:
    return [then(plain, n)]


def test_what_hands_on_is_returned_alone_and_by_a_task(client: Client) -> None:
    with pytest.raises(RainException, match="return it alone"):
        client.submit(hand_on_inside, 1).result()
    with pytest.raises(RainException, match="functions that run as tasks"):
        then(plain, 1)


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
