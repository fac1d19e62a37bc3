"""The client of asyncio and trio programs, with a real cluster."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from rain.client import AsyncClient, CancelledError, Client, Future, RainException

pytestmark = pytest.mark.whole


def run_in_asyncio(main: Callable[[], Any]) -> Any:
    return asyncio.run(main())


LOOPS = pytest.mark.parametrize("run", [run_in_asyncio, trio.run], ids=["asyncio", "trio"])
Run = Callable[[Callable[[], Awaitable[Any]]], Any]


def add(a: int, b: int = 0) -> int:
    return a + b


def fail(text: str) -> int:
    raise ValueError(text)


def sleep_until_killed(started: str) -> None:
    Path(started).touch()
    signal.pause()


@LOOPS
def test_calls_are_awaited_gathered_and_iterated(run: Run) -> None:
    async def main() -> None:
        async with AsyncClient(cpus=2) as client:
            assert await client.submit(add, 1, b=2) == 3
            futures = client.map(add, range(3))
            assert await client.gather({"all": futures}) == {"all": [0, 1, 2]}
            seen = [future async for future in client.as_completed(futures)]
            assert sorted([await future for future in seen]) == [0, 1, 2]
            each = client.as_completed(client.map(add, [3, 4]))  # which nobody else has
            assert sorted([await future async for future in each]) == [3, 4]
            table = await client.put([1, 2, 3])
            assert await client.options(name="length").submit(len, table) == 3
            with pytest.raises(ValueError, match="why"):
                await client.gather([*futures, client.submit(fail, "why")])

    run(main)


@LOOPS
def test_the_loop_goes_on_while_calls_run_and_a_cancelled_wait_ends_its_call(
    run: Run, tmp_path: Path
) -> None:
    async def main() -> str:
        async with AsyncClient(cpus=1) as client:
            future = client.submit(sleep_until_killed, str(tmp_path / "started"))
            if run is trio.run:
                with trio.move_on_after(0.05):
                    await future
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(client.gather(future), 0.05)
            with pytest.raises(CancelledError):
                await client.submit(add, future)
            return future.status

    assert run(main) == "cancelled"


@LOOPS
def test_a_cancelled_iteration_ends_the_calls_that_it_waits_for(run: Run, tmp_path: Path) -> None:
    async def main() -> list[str]:
        async with AsyncClient(cpus=1) as client:
            hangs = client.submit(sleep_until_killed, str(tmp_path / "started"))
            futures: list[Future[Any]] = [client.submit(add, 1), hangs]

            async def iterate() -> None:
                async for _ in client.as_completed(futures):
                    pass

            if run is trio.run:
                with trio.move_on_after(0.05):
                    await iterate()
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(iterate(), 0.05)
            return [hangs.status, str(await client.submit(add, 2))]

    assert run(main) == ["cancelled", "2"]


def test_it_is_open_inside_of_its_block_only() -> None:
    client = AsyncClient(cpus=1)
    with pytest.raises(RainException, match="only inside of `async with`"):
        client.submit(add, 1)


def test_several_loops_share_the_futures_of_one_client() -> None:
    with Client(cpus=1) as client:
        futures = client.map(add, range(3))

        async def last() -> int:
            return await futures[-1]

        assert [asyncio.run(last()), trio.run(last)] == [2, 2]
