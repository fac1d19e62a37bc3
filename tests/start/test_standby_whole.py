"""A whole cluster with a standby: what goes on when its server has been killed."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest

from rain.client import Client
from rain.cluster import Cluster
from rain.start.clusters import ClusterDescription as Started
from rain.start.clusters import read_cluster
from rain.start.processes import is_running
from tests.start.commands import run_rain, started
from tests.support.waiting import until_now

pytestmark = [
    pytest.mark.whole,
    pytest.mark.usefixtures("own_state"),
    # A waiting program is told that no governor is there yet, and that the server is away.
    pytest.mark.filterwarnings("ignore::rain.client.RainWarning"),
]


def known(cluster: Cluster) -> Started:
    found = read_cluster(cluster.log_folder)
    assert found is not None
    return found


def kill(cluster: Started, name: str) -> None:
    mark = next(server.mark for server in cluster.servers if server.name == name)
    os.kill(mark.pid, signal.SIGKILL)
    until_now(lambda: not is_running(mark))


def answer(client: Client) -> int:
    return client.submit(pow, 2, 3).result()


def test_programs_commands_and_the_scaler_go_on_with_either_server() -> None:
    with (
        Cluster.local(
            1, maximum=1, idle=1.0, standby=True, listen="0", http_listen="0", journal="journal"
        ) as cluster,
        cluster.client() as client,
    ):
        first, second = known(cluster).addresses.split(",")
        assert f"Standby {second} stands by" in run_rain("status", first)
        assert answer(client) == 8
        until_now(partial(lambda: not cluster.jobs()))

        kill(known(cluster), "server")
        assert answer(client) == 8  # on a governor that the scaler has started since
        assert started(cluster) == 2
        status = run_rain("status", first)
        assert status.startswith(f"Server {second}\nStandby {first} does not answer\n")
        assert "No sessions" not in status  # as the HTTP of the standby tells
        assert "Scaling local" in status

        assert run_rain("restart") == f"The servers at {first} and {second} run again.\n"
        assert run_rain("status").startswith(f"Server {first}\nStandby {second} stands by\n")
        kill(known(cluster), "server")
        with cluster.client() as another:
            assert (answer(client), answer(another)) == (8, 8)
