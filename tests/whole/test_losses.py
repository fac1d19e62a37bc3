"""Governors and executors die for real, and nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Output, TaskException, remote
from rain.client.session import Session
from tests.support.waiting import until_now
from tests.whole.daemons import Daemon, children, governor, server, wait_for_end

pytestmark = pytest.mark.whole

LARGE = 3_000_000


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def marked(ctx: Any, folder: str, number: int) -> int:
    """Leaves a mark for each of its runs, and the pid that ran it."""
    descriptor = os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    return number * number


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def held(ctx: Any, folder: str, *read: int) -> int:
    """Says who runs it, and goes on when the test lets one run go."""
    descriptor = os.open(f"{folder}/started", os.O_WRONLY)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    descriptor = os.open(f"{folder}/go", os.O_RDONLY)
    os.read(descriptor, 1)
    os.close(descriptor)
    return 7 + sum(read)


@remote()
def large(ctx: Any, folder: str) -> bytes:
    """Three million bytes, and a mark for the run."""
    descriptor = os.open(f"{folder}/large", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    return b"x" * LARGE


@remote()
def sized(ctx: Any, folder: str, number: int) -> bytes:
    """As large, with a mark of its own."""
    descriptor = os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{os.getppid()}\n".encode())
    os.close(descriptor)
    return b"x" * LARGE


@remote()
def length(ctx: Any, data: Any) -> str:
    return str(len(data.get_bytes()))


class Gate:
    """Two pipes by which a held task says that it runs, and is let go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("started", "go"):
            os.mkfifo(folder / name)
        # Held open for both directions, so that nobody sees an end and nobody blocks in opening.
        self._started = os.open(folder / "started", os.O_RDWR)
        self._go = os.open(folder / "go", os.O_RDWR)

    def next_start(self) -> int:
        """Waits until a task runs; the governor that runs it, by pid."""
        line = b""
        while not line.endswith(b"\n"):  # two may have started at once
            line += os.read(self._started, 1)
        return int(line)

    def let_go(self, runs: int = 1) -> None:
        os.write(self._go, b"." * runs)

    def close(self) -> None:
        os.close(self._started)
        os.close(self._go)


@pytest.fixture
def gate(tmp_path: Path) -> Generator[Gate, None, None]:
    (tmp_path / "gate").mkdir()
    made = Gate(tmp_path / "gate")
    yield made
    made.close()


def runs(mark: Path) -> list[int]:
    """The governors that ran a marked task, by pid."""
    return [int(line) for line in mark.read_text(encoding="ascii").split()]


class Cluster:
    """A server, two governors of one cpu, and a session."""

    def __init__(self, first: Daemon, second: Daemon, session: Session) -> None:
        self.governors = {first.process.pid: first, second.process.pid: second}
        self.session = session

    def kill(self, pid: int) -> None:
        """Kills a governor; returns when its executors have gone with it."""
        started = children(pid)
        self.governors[pid].kill()
        for child in started:
            wait_for_end(child)

    def other(self, pid: int) -> int:
        (found,) = set(self.governors) - {pid}
        return found


@contextmanager
def two_governors(tmp_path: Path, *arguments: str) -> Generator[Cluster, None, None]:
    """A cluster whose server has these arguments, and a folder for marks."""
    (tmp_path / "marks").mkdir()
    with (
        server(tmp_path, *arguments) as serving,
        governor(tmp_path, "one", serving.address) as first,
        governor(tmp_path, "two", serving.address) as second,
        Client("127.0.0.1", serving.port) as client,
        client.new_session("losses") as session,
    ):
        yield Cluster(first, second, session)
        assert serving.process.poll() is None, "the server lives"


@pytest.fixture
def cluster(tmp_path: Path) -> Generator[Cluster, None, None]:
    with two_governors(tmp_path) as made:
        yield made


@pytest.fixture
def dealing_cluster(tmp_path: Path) -> Generator[Cluster, None, None]:
    """Its scheduler deals tasks out in turn, and moves none while its governor lives."""
    with two_governors(tmp_path, "--scheduler", "round-robin") as made:
        yield made


def test_the_tasks_of_a_killed_governor_run_elsewhere(
    cluster: Cluster, gate: Gate, tmp_path: Path
) -> None:
    # given: one task that is held on a governor, and others behind it
    holding = held(str(gate.folder))
    others = [marked(str(tmp_path / "marks"), number) for number in range(40)]
    cluster.session.keep_all()
    cluster.session.submit()
    victim = gate.next_start()
    # when
    cluster.kill(victim)
    # then
    assert gate.next_start() == cluster.other(victim)
    gate.let_go()
    cluster.session.wait_all()
    assert holding.output.fetch().load() == 7
    assert [task.output.fetch().load() for task in others] == [n * n for n in range(40)]


def test_small_inputs_that_were_lent_to_a_killed_governor_come_again(
    dealing_cluster: Cluster, gate: Gate, tmp_path: Path
) -> None:
    # given: a task on one governor that reads what others have made on both
    cluster = dealing_cluster
    numbers = range(40)
    made = [marked(str(tmp_path / "marks"), number) for number in numbers]
    holding = held(str(gate.folder), *made)
    made[1].output.keep()
    holding.output.keep()
    cluster.session.submit()
    victim = gate.next_start()
    cluster.session.wait(made)  # a governor may start a task before the server hears of its inputs
    ran = [runs(tmp_path / "marks" / str(number)) for number in numbers]
    assert sorted(ran) == sorted([[victim], [cluster.other(victim)]] * 20)
    # when
    cluster.kill(victim)
    # then: it reads them elsewhere, and so does somebody who comes later
    assert gate.next_start() == cluster.other(victim)
    late = held(str(gate.folder), made[1])
    late.output.keep()
    cluster.session.submit()
    gate.let_go(runs=2)
    assert holding.output.fetch().load() == 7 + sum(number * number for number in numbers)
    assert late.output.fetch().load() == 8
    # and: nothing was made again, since the server has the bytes
    assert [runs(tmp_path / "marks" / str(number)) for number in numbers] == ran


def test_a_large_object_whose_only_copy_is_lost_is_made_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    # given
    made = large(str(tmp_path / "marks"))
    made.output.keep()
    cluster.session.submit()
    made.wait()
    (holder,) = runs(tmp_path / "marks" / "large")
    # when
    cluster.governors[holder].kill()
    counted = length(made.output)
    counted.output.keep()
    cluster.session.submit()
    # then
    assert counted.output.fetch().get_str() == str(LARGE)
    assert runs(tmp_path / "marks" / "large") == [holder, cluster.other(holder)]


def test_a_governor_takes_its_executors_with_it_when_it_is_killed(
    cluster: Cluster, gate: Gate
) -> None:
    # given: an executor that works
    held(str(gate.folder))
    cluster.session.submit()
    victim = gate.next_start()
    assert children(victim)
    # when, then: it returns when they have gone
    cluster.kill(victim)
    gate.let_go()
    cluster.session.wait_all()


def test_a_stopped_governor_is_given_up_and_its_late_results_are_refused(
    tmp_path: Path, gate: Gate
) -> None:
    # given
    with (
        server(tmp_path, "--governor-timeout", "3") as serving,
        governor(tmp_path, "one", serving.address) as first,
        Client("127.0.0.1", serving.port) as client,
        client.new_session("stopped") as session,
    ):
        holding = held(str(gate.folder))
        holding.output.keep()
        session.submit()
        assert gate.next_start() == first.process.pid
        # when: it freezes, and the task runs elsewhere
        first.send(signal.SIGSTOP)
        with governor(tmp_path, "two", serving.address) as second:
            assert gate.next_start() == second.process.pid
            gate.let_go(runs=2)
            session.wait_all()
            first.send(signal.SIGCONT)
            # then: the first governor is told that it is not one of ours any more
            assert first.process.wait(15) == 0
            assert holding.output.fetch().load() == 7


def test_a_governor_that_is_told_to_end_loses_nothing_and_makes_nothing_again(
    cluster: Cluster, gate: Gate, tmp_path: Path
) -> None:
    # given: large results with one copy each, a task that is held, and tasks that read the results
    marks = tmp_path / "marks"
    made = [sized(str(marks), number) for number in range(12)]
    for task in made:
        task.output.keep()
    cluster.session.submit()
    cluster.session.wait(made)
    holding = held(str(gate.folder))
    readers = [length(task.output) for task in made]
    holding.output.keep()
    cluster.session.submit()
    leaving = gate.next_start()
    stays = cluster.other(leaving)
    ran = [runs(marks / str(number)) for number in range(12)]

    # when: it is told while the task runs there
    cluster.governors[leaving].send(signal.SIGTERM)
    cluster.session.wait(readers)  # the other one has run what it had not started
    assert cluster.governors[leaving].process.poll() is None, "it waits for its task"
    gate.let_go()

    # then
    assert cluster.governors[leaving].process.wait(15) == 0
    assert holding.output.fetch().load() == 7
    assert [len(task.output.fetch().get_bytes()) for task in made] == [LARGE] * 12
    assert [runs(marks / str(number)) for number in range(12)] == ran
    assert {pid for (pid,) in ran} == {leaving, stays}, "each had some"


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_with_the_second_signal_a_governor_ends_at_once(
    cluster: Cluster, gate: Gate, second: signal.Signals
) -> None:
    # given: it drains
    holding = held(str(gate.folder))
    holding.output.keep()
    cluster.session.submit()
    victim = gate.next_start()
    cluster.governors[victim].send(signal.SIGTERM)
    until_now(lambda: "governor drains" in cluster.governors[victim].errors.read_text())

    # when
    cluster.governors[victim].send(second)

    # then: the task runs elsewhere, and that was no crash
    assert cluster.governors[victim].process.wait(15) == 0
    assert gate.next_start() == cluster.other(victim)
    gate.let_go()
    assert holding.output.fetch().load() == 7
    holding.update()
    assert holding.info is not None
    assert [run.cause for run in holding.info.runs] == ["governor left", ""]


def test_a_governor_waits_for_its_tasks_no_longer_than_its_drain_seconds(
    tmp_path: Path, gate: Gate
) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, "--drain-seconds", "0.2") as first,
        Client("127.0.0.1", serving.port) as client,
        client.new_session("short") as session,
    ):
        holding = held(str(gate.folder))
        holding.output.keep()
        session.submit()
        assert gate.next_start() == first.process.pid
        first.send(signal.SIGTERM)
        assert first.process.wait(15) == 0
        with governor(tmp_path, "two", serving.address) as second:
            assert gate.next_start() == second.process.pid
            gate.let_go()
            assert holding.output.fetch().load() == 7


@remote(outputs=[Output(encode="pickle")])
def dies_twice(ctx: Any, folder: str) -> int:
    """Ends its executor in the first two of its runs."""
    descriptor = os.open(f"{folder}/tries", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b".")
    print("once more")  # noqa: T201 # as users do
    if os.fstat(descriptor).st_size < 3:
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(descriptor)
    return 7


def test_a_task_whose_executor_dies_is_tried_again(cluster: Cluster, tmp_path: Path) -> None:
    with cluster.session.bind_only():
        task = dies_twice(str(tmp_path))
        task.output.keep()
        cluster.session.submit()
        assert task.output.fetch().load() == 7
        task.update()
    assert task.info is not None
    failed, again = task.info.failed_tries
    assert (failed.cause, again.cause) == ("executor", "executor")
    assert (failed.signal, failed.exit_code, failed.logs) == ("SIGKILL", None, "once more\n")


@remote()
def leaves(ctx: Any, folder: str, code: int) -> bytes:
    """Ends its executor in each of its runs."""
    descriptor = os.open(f"{folder}/tries", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b".")
    os._exit(code)


def test_a_task_that_ends_its_executors_fails_by_name_when_its_crash_tries_are_used_up(
    cluster: Cluster, tmp_path: Path
) -> None:
    with cluster.session.bind_only():
        task = leaves(str(tmp_path), 0)
        cluster.session.submit()
        with pytest.raises(TaskException, match="ended with exit code 0") as why:
            task.wait()
    assert [run.exit_code for run in why.value.runs] == [0, 0, 0]
    assert (tmp_path / "tries").stat().st_size == 3


@remote()
def kills_its_governor(ctx: Any) -> bytes:
    os.kill(os.getppid(), signal.SIGKILL)
    return b""


def test_a_task_that_kills_its_governors_stops_and_names_the_cause(tmp_path: Path) -> None:
    with (
        server(tmp_path, "--crash-limit", "2") as host,
        governor(tmp_path, "first", host.address),
        governor(tmp_path, "second", host.address),
        Client("127.0.0.1", host.port) as client,
        client.new_session(on_failure="continue"),
    ):
        poison = kills_its_governor()
        depends = length(poison)
        poison.session.submit()
        with pytest.raises(TaskException, match="running on 2 governors when they were") as why:
            depends.wait()
        assert [failed.cause for failed in why.value.failed_tries] == ["governor"] * 2
