"""`rain restart` starts the server of a cluster again, and nothing else."""

from __future__ import annotations

import json
import os
import shlex
import signal

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.start.choice import find_cluster
from rain.start.clusters import ClusterDescription, read_cluster, write_cluster
from rain.start.governors import LocalGovernors
from rain.start.processes import is_running
from rain.start.reaching import reach
from rain.start.restart import restart_server
from rain.start.start import start_cluster
from tests.start.world import World
from tests.support.waiting import until_now


def kill_server(cluster: ClusterDescription) -> None:
    os.kill(cluster.server.mark.pid, signal.SIGKILL)
    until_now(lambda: not is_running(cluster.server.mark))


def test_a_server_that_has_died_is_started_again_with_its_own_command(world: World) -> None:
    cluster = world.start(2).cluster
    *first, _ = world.notes("server")["arguments"]  # the last is the number of a descriptor
    kill_server(cluster)

    again = restart_server(cluster, 30.0, world.index).cluster

    assert world.notes("server")["arguments"][:-1] == first
    assert again.members[1:] == cluster.members[1:]
    assert is_running(again.server.mark)
    assert world.left() == ["governor-0 pid", "governor-1 pid", "server pid"]


def test_a_server_that_runs_is_replaced(world: World) -> None:
    cluster = world.start(1).cluster

    again = restart_server(cluster, 30.0, world.index).cluster

    assert not is_running(cluster.server.mark)
    assert is_running(again.server.mark)


def test_a_server_that_hangs_is_replaced_too(world: World) -> None:
    cluster = world.start(1).cluster
    os.kill(cluster.server.mark.pid, signal.SIGSTOP)

    again = restart_server(cluster, 30.0, world.index, grace=0.1).cluster

    assert not is_running(cluster.server.mark)
    assert is_running(again.server.mark)


def test_the_cluster_is_found_as_before_and_stands_in_its_log_folder(world: World) -> None:
    cluster = world.start(1).cluster

    again = restart_server(cluster, 30.0, world.index).cluster

    assert find_cluster(world.index, "") == again
    assert read_cluster(world.logs) == again


def test_the_log_of_the_server_goes_on(world: World) -> None:
    cluster = world.start(1).cluster
    log = world.logs / "server.err"
    log.write_text("what the first one has said\n")

    restart_server(cluster, 30.0, world.index)

    assert log.read_text().startswith("what the first one has said\n")


def test_a_server_that_does_not_start_again_is_told_with_what_it_has_said_itself(
    world: World,
) -> None:
    cluster = world.start(1).cluster
    log = world.logs / "server.err"
    log.write_text("what the first one has said\n")
    python, player, _, *others = cluster.server_command
    dying = (python, player, json.dumps({"server": "dies"}), *others)
    write_cluster(evolve(cluster, server_command=dying))

    with pytest.raises(StartError) as caught:
        restart_server(cluster, 30.0, world.index)

    assert str(caught.value).endswith(f"{log} ends with:\n  | port 7210 is in use")


def test_a_server_goes_on_if_the_next_one_would_not_start(world: World) -> None:
    cluster = world.start(1).cluster
    python, player, _, *others = cluster.server_command
    refusing = (python, player, json.dumps({"server": "refuses"}), *others)
    write_cluster(evolve(cluster, server_command=refusing))

    with pytest.raises(StartError) as caught:
        restart_server(cluster, 30.0, world.index)

    assert str(caught.value) == (
        f"the server at {cluster.address} goes on as before, because the next one would not start:"
        " port 7210 is in use"
    )
    assert is_running(cluster.server.mark)


def test_a_server_without_a_journal_is_left_alone(world: World) -> None:
    cluster = evolve(world.start(1).cluster, server_command=())

    with pytest.raises(StartError, match="has no journal, so a restart would lose its sessions"):
        restart_server(cluster, 30.0, world.index)

    assert is_running(cluster.server.mark)


def test_a_start_is_refused_where_governors_wait_for_a_server(world: World) -> None:
    cluster = world.start(1).cluster
    kill_server(cluster)
    settings = evolve(world.settings(LocalGovernors((1,))), log_folder=world.folder / "other")

    with pytest.raises(StartError, match="has died, and its governors still run: go on with"):
        start_cluster(settings, world.access(), 30.0, world.index)

    assert not (world.folder / "other").exists()


def test_those_who_ask_a_server_that_has_died_are_told_how_to_go_on(world: World) -> None:
    cluster = world.start(1).cluster
    kill_server(cluster)

    with pytest.raises(StartError) as caught:
        reach(world.index, "", "", None, insecure=True)

    folder = shlex.quote(str(world.logs))
    assert str(caught.value) == (
        f"the server of the cluster at {cluster.address} has died, and its governors still run: go"
        f" on with 'rain restart {folder}', or end them with 'rain stop {folder}'"
    )
