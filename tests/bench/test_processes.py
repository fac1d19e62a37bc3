"""What the kernel says about a process is read right, and clusters start and end whole."""

import os
import subprocess
import time
from itertools import count
from pathlib import Path

import click
import pytest

from bench import processes
from bench.processes import (
    HOST,
    QUIET_SECONDS,
    Daemon,
    cpu_seconds,
    quiet_cpu_seconds,
    recorded_cluster,
    resident_bytes,
    zero_cluster,
)
from rain.client import Client
from rain.server.state import ReactorSettings


def test_the_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    before = time.process_time()
    read = cpu_seconds(os.getpid())
    after = time.process_time()

    assert before <= read <= after


def test_a_process_has_some_memory() -> None:
    assert resident_bytes(os.getpid()) > 1_000_000


def test_a_daemon_is_read_when_it_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([1.0, 1.5, 1.6, 1.6001, 1.6002])
    pauses: list[float] = []

    def read(_: Daemon) -> float:
        return next(readings)

    monkeypatch.setattr(Daemon, "cpu_seconds", read)
    monkeypatch.setattr(processes, "sleep", pauses.append)
    daemon = Daemon("server", subprocess.Popen(["true"]), Path("unused"))

    assert quiet_cpu_seconds([daemon]) == [1.6001]
    assert pauses == [QUIET_SECONDS] * 3
    daemon.stop()


def test_a_daemon_that_is_never_quiet_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count(1.0)

    def read(_: Daemon) -> float:
        return next(seconds)

    def go_on(_: float) -> None:
        pass

    monkeypatch.setattr(Daemon, "cpu_seconds", read)
    monkeypatch.setattr(processes, "sleep", go_on)
    daemon = Daemon("server", subprocess.Popen(["true"]), Path("unused"))

    with pytest.raises(click.ClickException, match=r"^server is not quiet"):
        quiet_cpu_seconds([daemon])
    daemon.stop()


def test_all_daemons_are_quiet_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = {"one": iter([1.0, 1.1, 1.1, 1.2, 1.2]), "other": iter([2.0, 2.0, 2.1, 2.1, 2.1])}

    def read(daemon: Daemon) -> float:
        return next(readings[daemon.name])

    def go_on(_: float) -> None:
        pass

    monkeypatch.setattr(Daemon, "cpu_seconds", read)
    monkeypatch.setattr(processes, "sleep", go_on)
    daemons = [Daemon(name, subprocess.Popen(["true"]), Path("unused")) for name in readings]

    assert quiet_cpu_seconds(daemons) == [1.2, 2.1]
    for daemon in daemons:
        daemon.stop()


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
