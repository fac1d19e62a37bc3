"""Clusters through a real sshd of this machine, which plays several hosts."""

from __future__ import annotations

import getpass
import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import StartError
from rain.cluster import Cluster
from tests.start.real_sshd import SSHD, real_sshd
from tests.start.world import ROOT

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not SSHD.exists(), reason="apt install openssh-server"),
]
FIRST = f"export PYTHONPATH={ROOT}"


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """The command that reaches the hosts."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
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
