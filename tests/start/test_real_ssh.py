"""Clusters through a real sshd of this machine, which plays several hosts."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import StartError
from rain.cluster import Cluster
from rain.start.scaling_files import read_state
from tests.start.real_sshd import SSHD, real_sshd
from tests.start.world import ROOT
from tests.support.waiting import until_now

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not SSHD.exists(), reason="apt install openssh-server"),
]
FIRST = f"export PYTHONPATH={ROOT}"


@pytest.fixture
def ssh(tmp_path: Path, own_state: None) -> Generator[str]:
    """The command that reaches the hosts."""
    with real_sshd(tmp_path / "ssh") as settings:
        yield f"ssh -F {settings}"


def start(ssh: str, tmp_path: Path, *hosts: str, **more: Any) -> Cluster:
    return Cluster.ssh(
        hosts,
        ssh=ssh,
        before=FIRST,
        listen="0",
        http_listen="0",
        logdir=tmp_path / "logs",
        **more,
    )


def test_hosts_are_reached_through_another_one_as_the_user_who_is_named(
    ssh: str, tmp_path: Path
) -> None:
    with (
        start(ssh, tmp_path, "node1", "node2", user=getpass.getuser(), jump="login") as cluster,
        cluster.client() as client,
    ):
        assert client.submit(os.getenv, "SSH_CONNECTION").result()
        assert len(client.get_server_info()["governors"]) == 2


def number_of(number: int) -> tuple[int, int]:
    time.sleep(0.5)
    return number, os.getppid()


@pytest.mark.filterwarnings("ignore::rain.client.RainWarning")  # that no governor is there yet
def test_hosts_get_governors_when_tasks_wait_and_are_given_back(ssh: str, tmp_path: Path) -> None:
    # given: three hosts, of which the first cannot be reached
    with (
        start(ssh, tmp_path, "nowhere.invalid", "node1", "node2", maximum=2, idle=1.0) as cluster,
        cluster.client() as client,
    ):
        assert cluster.jobs() == []
        found = client.gather([client.submit(number_of, n) for n in range(60)])
        until_now(lambda: not cluster.jobs())
        state = read_state(cluster.log_folder)
    logs = tmp_path / "logs"
    assert (logs / "secret").read_text().strip() not in (logs / "scaler.json").read_text()
    assert [number for number, _ in found] == list(range(60))
    assert len({governor for _, governor in found}) == 2
    assert state is not None
    ended = [*state.ended.values()]
    assert ended.count("was released") == 2
    assert [why for why in ended if "Could not resolve hostname nowhere" in why]


@pytest.mark.filterwarnings("ignore::rain.client.RainWarning")
def test_a_governor_of_a_session_that_is_cut_ends_and_another_host_takes_its_work(
    ssh: str, tmp_path: Path
) -> None:
    with (
        start(ssh, tmp_path, "node1", "node2", maximum=1) as cluster,
        cluster.client() as client,
    ):
        futures = [client.submit(number_of, n) for n in range(8)]
        client.wait(futures, num_returns=1)
        (job,) = cluster.jobs()
        os.kill(int(job.number.partition(".")[0]), signal.SIGKILL)
        found = client.gather(futures)
        (other,) = cluster.jobs()

    assert [number for number, _ in found] == list(range(8))
    assert (job.name, other.name) == ("governor-0", "governor-1")


def test_more_governors_than_hosts_are_refused(ssh: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="--max 3 is more than the 2 hosts"):
        start(ssh, tmp_path, "node1", "node2", "node1", maximum=3)


def test_sessions_may_share_a_connection_that_stays(ssh: str, tmp_path: Path) -> None:
    path = tmp_path / "c"
    shared = f"{ssh} -o ControlMaster=auto -o ControlPath={path} -o ControlPersist=60"
    try:
        with start(shared, tmp_path, "node1") as cluster:
            cluster.add("ssh", hosts=["node1"], ssh=shared, before=FIRST)
            with cluster.client() as client:
                assert len(client.get_server_info()["governors"]) == 2
    finally:
        command = [*shared.split(), "-O", "exit", "node1"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "Exit request sent" in told.stderr
    assert (tmp_path / "ssh" / "sshd.log").read_text().count("Accepted publickey") == 1


def test_a_user_who_is_not_let_in_is_told_what_ssh_says(ssh: str, tmp_path: Path) -> None:
    with pytest.raises(
        StartError, match=r"governor-0 on nobody-here@node1: .*\n.*Permission denied"
    ):
        start(ssh, tmp_path, "node1", user="nobody-here")
