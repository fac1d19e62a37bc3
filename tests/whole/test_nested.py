"""Tasks that submit tasks and wait for them, on real governors."""

import asyncio
import os
import sys
from collections.abc import Iterator
from importlib import import_module
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


GROVE = """
import os
from pathlib import Path

from rain.client import get_client

with Path(__file__).with_name("loads").open("a") as loads:
    loads.write(f"{os.getpid()}\\n")


def grow(depth):
    if not depth:
        return 1
    return 1 + sum(get_client().gather(get_client().map(grow, [depth - 1] * 2)))
"""


@in_processes
def test_each_process_loads_the_modules_of_a_tree_once(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "grove.py"
    file.write_text(GROVE)
    os.utime(file, (1_700_000_000, 1_700_000_000))  # before this program began
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert client.submit(import_module("grove").grow, 3).result() == 15

    loads = (tmp_path / "loads").read_text().split()
    assert len(loads) == len({*loads})


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
