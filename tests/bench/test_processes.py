"""What the kernel says about a process is read right, and clusters start and end whole."""

import os
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count, repeat
from pathlib import Path

import click
import pytest

from bench import processes
from bench.processes import (
    HOST,
    IDLE_SECONDS,
    QUIET_SECONDS,
    Daemon,
    cpu_seconds,
    idle_shares,
    quiet_cpu_seconds,
    recorded_cluster,
    resident_bytes,
    zero_cluster,
)
from rain.client import Client
from rain.server.core.reactor_settings import ReactorSettings


def test_the_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    before = time.process_time()
    read = cpu_seconds(os.getpid())
    after = time.process_time()

    assert before <= read <= after


def test_a_process_has_some_memory() -> None:
    assert resident_bytes(os.getpid()) > 1_000_000


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Of a clock that goes on in pauses only."""
    taken: list[float] = []
    monkeypatch.setattr(processes, "sleep", taken.append)
    monkeypatch.setattr(processes, "perf_counter", lambda: sum(taken))
    return taken


@pytest.fixture
def daemons(monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., list[Daemon]]]:
    """Daemons that have used as much when they are asked one time after the other."""
    made: list[Daemon] = []
    readings: dict[str, Iterator[float]] = {}

    def read(daemon: Daemon) -> float:
        return next(readings[daemon.name])

    def make(**used: Iterable[float]) -> list[Daemon]:
        readings.update({name: iter(column) for name, column in used.items()})
        made.extend(Daemon(name, subprocess.Popen(["true"]), Path("unused")) for name in used)
        return made

    monkeypatch.setattr(Daemon, "cpu_seconds", read)
    yield make
    for daemon in made:
        daemon.stop()


def test_a_daemon_is_read_when_it_is_quiet(
    pauses: list[float], daemons: Callable[..., list[Daemon]]
) -> None:
    assert quiet_cpu_seconds(daemons(server=[1.0, 1.5, 1.6, 1.6003])) == [1.6003]
    assert pauses == [QUIET_SECONDS] * 3


@pytest.mark.usefixtures("pauses")
def test_what_a_daemon_uses_for_nothing_is_measured_over_signs_of_life(
    daemons: Callable[..., list[Daemon]],
) -> None:
    busy, idle = [1.0, 1.0, 1.0 + 0.04 * IDLE_SECONDS], [2.0, 2.0, 2.0]
    assert idle_shares(daemons(busy=busy, idle=idle)) == pytest.approx([0.04, 0.0])


@pytest.mark.usefixtures("pauses")
def test_a_daemon_that_is_never_quiet_is_named(daemons: Callable[..., list[Daemon]]) -> None:
    with pytest.raises(click.ClickException, match=r"^busy is not quiet"):
        quiet_cpu_seconds(daemons(idle=repeat(1.0), busy=count(1.0)))


@pytest.mark.usefixtures("pauses")
def test_all_daemons_are_quiet_at_the_same_time(daemons: Callable[..., list[Daemon]]) -> None:
    one, other = [1.0, 1.1, 1.1, 1.2, 1.2], [2.0, 2.0, 2.1, 2.1, 2.1]

    assert quiet_cpu_seconds(daemons(one=one, other=other)) == [1.2, 2.1]


def test_what_waits_at_the_end_of_a_session_is_over_when_a_daemon_is_quiet() -> None:
    assert ReactorSettings().little_wait < QUIET_SECONDS


@pytest.mark.whole
def test_a_cluster_is_ready_when_it_is_given_and_gone_afterwards() -> None:
    with zero_cluster(3) as cluster:
        with Client(HOST, cluster.port) as client:
            assert len(client.get_server_info()["governors"]) == 3
        process = cluster.server.process

    assert process.returncode == 0


@pytest.mark.whole
def test_a_daemon_that_does_not_start_is_named_with_what_it_says(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()

    with (
        pytest.raises(click.ClickException, match=r"(?s)^server did not start:\n.*taken"),
        recorded_cluster(1, 1, taken),
    ):
        pass
