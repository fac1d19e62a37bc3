"""The server is killed in the middle of work and started again on the same journal.

Governors are real, and go on. Every task leaves a mark for each of its runs.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Output, Task, blob, get_client, remote
from tests.whole.daemons import Daemon, governor, server
from tests.whole.test_losses import Gate, gate, marked, runs

__all__ = ["gate"]

pytestmark = pytest.mark.whole

COUNT = 200
LARGE = 3_000_000


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def gated(ctx: Any, folder: str, marks: str, number: int, *before: int) -> int:
    """Leaves a mark, says that it runs, and goes on when the test lets it go."""
    descriptor = os.open(f"{marks}/{number}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    descriptor = os.open(f"{folder}/started", os.O_WRONLY)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    descriptor = os.open(f"{folder}/go", os.O_RDONLY)
    os.read(descriptor, 1)
    os.close(descriptor)
    return number * number


@remote()
def gated_large(ctx: Any, folder: str, number: int) -> bytes:
    """Three million bytes, once the test lets it go."""
    descriptor = os.open(f"{folder}/started", os.O_WRONLY)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    descriptor = os.open(f"{folder}/go", os.O_RDONLY)
    os.read(descriptor, 1)
    os.close(descriptor)
    return bytes([number]) * LARGE


@remote(outputs=[Output(encode="pickle")])
def total(ctx: Any, *data: Any) -> int:
    """How many bytes there are."""
    return sum(len(one.get_bytes()) for one in data)


class Lives:
    """One server after the other on the same journal and the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0

    @contextmanager
    def live(self) -> Generator[Daemon]:
        journal = ("--journal", str(self.folder / "journal"), "--client-grace", "600")
        listen = ("--listen", f"127.0.0.1:{self.port}")
        with server(self.folder, *journal, *listen) as serving:
            self.port = serving.port
            yield serving


def results(server: Daemon, session: int, tasks: list[Task]) -> list[Any]:
    """What tasks have made, as another client sees it that waits for all of them."""
    with Client("127.0.0.1", server.port) as client:
        joined = client.join_session(session)
        joined.wait_all()
        outputs = [joined.data_object(task.output.id) for task in tasks]
        return [output.fetch().load() for output in outputs]


def test_every_task_runs_once_though_the_server_is_killed_among_them(
    tmp_path: Path, gate: Gate
) -> None:
    (tmp_path / "marks").mkdir()
    marks, lives = str(tmp_path / "marks"), Lives(tmp_path)
    # One governor: of two, one may be told to run what the other one has run just now.
    with lives.live() as first, governor(tmp_path, "one", first.address, 2):
        # given: 200 tasks, of which two run
        client = Client("127.0.0.1", first.port, server_away=0)
        with client.new_session("killed").bind_only() as session:
            tasks = [gated(str(gate.folder), marks, number) for number in range(2)]
            tasks += [marked(marks, number) for number in range(2, COUNT)]
            session.keep_all()
            session.submit()
        for _ in range(2):
            gate.next_start()

        # when
        first.kill()
        gate.let_go(2)

        # then
        with lives.live() as second:
            squares = [number * number for number in range(COUNT)]
            assert results(second, session.session_id, tasks) == squares
        ran = [len(runs(tmp_path / "marks" / str(number))) for number in range(COUNT)]
        assert ran == [1] * COUNT


def test_a_chain_goes_on_though_the_server_is_killed_in_each_of_its_tasks(
    tmp_path: Path, gate: Gate
) -> None:
    (tmp_path / "marks").mkdir()
    marks, lives = str(tmp_path / "marks"), Lives(tmp_path)
    kills = 5
    with ExitStack() as stack:
        serving = stack.enter_context(lives.live())
        for name in ("one", "two"):
            stack.enter_context(governor(tmp_path, name, serving.address))
        client = Client("127.0.0.1", serving.port, server_away=0)
        with client.new_session("chain").bind_only() as session:
            tasks = [gated(str(gate.folder), marks, 0)]
            for number in range(1, kills + 1):
                tasks.append(gated(str(gate.folder), marks, number, tasks[-1]))
            session.keep_all()
            session.submit(fuse=False)

        for _ in range(kills):
            gate.next_start()
            serving.kill()
            gate.let_go()
            serving = stack.enter_context(lives.live())
        gate.next_start()
        gate.let_go()

        squares = [number * number for number in range(kills + 1)]
        assert results(serving, session.session_id, tasks) == squares
        assert [len(runs(tmp_path / "marks" / str(n))) for n in range(kills + 1)] == [1] * 6


def test_large_data_made_and_uploaded_before_a_kill_reaches_tasks_after_it(
    tmp_path: Path, gate: Gate
) -> None:
    lives = Lives(tmp_path)
    with (
        lives.live() as first,
        governor(tmp_path, "one", first.address, 1, "--no-share-store"),
        governor(tmp_path, "two", first.address, 1, "--no-share-store"),
    ):
        # given: each governor makes something large, and the server has something large
        client = Client("127.0.0.1", first.port, server_away=0)
        with client.new_session("large").bind_only() as session:
            made = [gated_large(str(gate.folder), number) for number in range(2)]
            constant = blob(b"c" * LARGE)
            tasks = [total(*made, constant) for _ in range(4)]
            for task in tasks:
                task.keep_outputs()
            session.submit()
        for _ in range(2):
            gate.next_start()

        # when
        first.kill()
        gate.let_go(2)

        # then
        with lives.live() as second:
            assert results(second, session.session_id, tasks) == [3 * LARGE] * 4


def gated_square(folder: str, number: int) -> int:
    """A plain function that says that it runs, and goes on when the test lets it go."""
    with Path(folder, "started").open("w", encoding="ascii") as started:
        started.write(f"{os.getppid()}\n")
    descriptor = os.open(f"{folder}/go", os.O_RDONLY)
    os.read(descriptor, 1)
    os.close(descriptor)
    return number * number


def sum_of_squares(folder: str, count: int) -> int:
    """Calls functions on the cluster and waits for them."""
    calls = get_client().map(partial(gated_square, folder), range(count))
    return sum(call.result() for call in calls)


def test_a_task_that_waits_for_tasks_of_its_own_goes_on_with_the_client_that_waits_for_it(
    tmp_path: Path, gate: Gate
) -> None:
    lives, folder = Lives(tmp_path), str(gate.folder)
    with ExitStack() as stack:
        serving = stack.enter_context(lives.live())
        stack.enter_context(governor(tmp_path, "one", serving.address, 1))
        client = stack.enter_context(Client("127.0.0.1", serving.port))
        waiting = client.submit(sum_of_squares, folder, 3)
        for _ in range(3):
            gate.next_start()
            serving.kill()
            gate.let_go()
            serving = stack.enter_context(lives.live())
        assert waiting.result() == 5
