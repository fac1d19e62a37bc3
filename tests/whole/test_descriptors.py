"""A server without a descriptor left says so to who comes, and goes on with who is inside."""

from __future__ import annotations

import os
import resource
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.client import Client, ConnectionException
from rain.governor.main import run_governor
from rain.governor.settings import GovernorSettings
from tests.support.waiting import until_now
from tests.whole.daemons import Daemon, server

pytestmark = pytest.mark.whole

REASON = "no file descriptors left"


def leave_none(pid: int) -> None:
    """Lets a process open no more than it has open now, and what fits between."""
    highest = max(map(int, os.listdir(f"/proc/{pid}/fd")))  # noqa: PTH208 # numbers, not paths
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, hard))


def fill(running: Daemon) -> tuple[list[Client], str]:
    """Clients until one is turned away, and what that one was told."""
    inside: list[Client] = []
    while True:
        try:
            inside.append(Client("127.0.0.1", running.port))
        except ConnectionException as error:
            return inside, str(error)


def test_a_client_of_a_server_without_descriptors_is_told_so_at_once(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        first = Client("127.0.0.1", running.port)
        leave_none(running.process.pid)

        inside, told = fill(running)
        assert told.startswith(f"cannot reach the server at {running.address}: it has {REASON}")
        assert "ulimit -n" in told
        settings = GovernorSettings(
            servers=(("127.0.0.1", running.port),),
            work_folder=tmp_path / "work",
            log_folder=tmp_path / "logs",
        )
        with pytest.raises(StartError, match=REASON):
            run_governor(settings)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{running.http}/status")
        assert refused.value.code == 503
        assert REASON in refused.value.read().decode()

        # Who is inside is served, and who leaves makes room.
        with first.new_session("inside"):
            assert first.get_server_info() == {"governors": []}
        first.close()
        until_now(lambda: has_room(running))
        for client in inside:
            client.close()
        said = running.errors.read_text()
        assert said.count("connections are turned away") == 1
        assert "Traceback" not in said


def has_room(running: Daemon) -> bool:
    try:
        Client("127.0.0.1", running.port).close()
    except ConnectionException:
        return False
    return True
