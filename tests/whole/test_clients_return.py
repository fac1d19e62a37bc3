"""Clients wait for a server that has died, and go on when it is back: nothing is done twice.

The lives of the server are in this process, around one state (`test_returning_server`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import trio

from rain.client import Client, ConnectionException, as_completed, blob, tasks
from rain.client.future import Future
from tests.whole.test_returning_server import Server, die, governor_of, play

pytestmark = pytest.mark.whole

T = TypeVar("T")
RUNS = 40


async def in_thread(do: Callable[[], T]) -> T:
    return await trio.to_thread.run_sync(do, abandon_on_cancel=True)


def connect(server: Server) -> Client:
    return Client("127.0.0.1", server.port, insecure=True)


def square(folder: Path, number: int) -> int:
    """Notes each of its runs."""
    with (folder / str(number)).open("a") as file:
        file.write("x")
    time.sleep(0.02)
    return number * number


def use(client: Client, folder: Path, first: int) -> list[int]:
    """What programs do: futures, a large argument, a session of their own."""
    numbers = range(first, first + RUNS)
    futures: list[Future[int]] = [client.submit(square, folder, number) for number in numbers]
    found = sorted(future.result() for future in as_completed(futures))
    assert client.submit(len, b"x" * 2_000_000).result() == 2_000_000
    with client.new_session("one").bind_only() as session:
        joined = tasks.Concat([blob("a"), blob("b")])
        joined.output.keep()
        session.submit()
        session.wait_all()
        assert joined.output.fetch().get_bytes() == b"ab"
    session.close()
    return found


def is_further(found: list[list[int]], runs: Callable[[], Iterable[Path]], count: int) -> bool:
    return len(found) == 2 or len(list(runs())) > count


def test_programs_go_on_when_the_server_has_died_again_and_again(tmp_path: Path) -> None:
    for name in ("spool", "runs"):
        (tmp_path / name).mkdir()
    found: list[list[int]] = []

    async def scene(server: Server) -> None:
        life = server.live()
        async with governor_of(server, tmp_path):
            client = await in_thread(lambda: connect(server))
            async with trio.open_nursery() as nursery:

                async def work(first: int) -> None:
                    found.append(await in_thread(lambda: use(client, tmp_path / "runs", first)))

                nursery.start_soon(work, 0)
                nursery.start_soon(work, RUNS)
                runs = (tmp_path / "runs").iterdir
                for finished in range(7, 100 * RUNS, 7):  # a death after each few tasks
                    await server.until(partial(is_further, found, runs, finished))
                    if len(found) == 2:
                        break
                    die(life)
                    life = server.live()
            # then: there is nothing left of it all
            await in_thread(client.close)
            await server.until(lambda: not server.state.graph.clients)
            assert not server.state.graph.sessions
            assert not server.state.asked.open

    play(tmp_path / "spool", scene)
    assert sorted(found) == [[n * n for n in range(RUNS)], [n * n for n in range(RUNS, 2 * RUNS)]]
    assert {len(path.read_text()) for path in (tmp_path / "runs").iterdir()} == {1}


def test_a_server_that_has_forgotten_a_client_says_so(tmp_path: Path) -> None:
    async def scene(server: Server) -> None:
        life = server.live()
        client = await in_thread(lambda: connect(server))
        die(life)
        server.state.asked.clients.clear()
        server.state.asked.open.clear()
        server.live()

        def ask() -> None:
            with pytest.raises(ConnectionException, match="has given up this client"):
                client.get_server_info()

        await in_thread(ask)

    (tmp_path / "spool").mkdir()
    play(tmp_path / "spool", scene)
