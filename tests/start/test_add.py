"""Governors come to a cluster that runs: all or none of them, and they end with it."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from rain.base.address import split_address
from rain.base.errors import StartError
from rain.cli.cluster_file import read_order
from rain.start.add import Added, add_governors
from rain.start.clusters import ClusterDescription, changing, read_cluster
from rain.start.ending import ProcessEnding
from rain.start.governors import BatchGovernors, Governors, LocalGovernors, RemoteGovernors
from rain.start.start import start_cluster
from rain.start.stop import stop_cluster
from tests.start.world import World


def add(world: World, governors: Governors, cluster: ClusterDescription, /, **does: str) -> Added:
    settings = world.settings(governors, **does)
    return add_governors(cluster, settings, world.access("true"), 30.0)


def started(world: World, **more: Any) -> ClusterDescription:
    settings = evolve(world.settings(LocalGovernors((1,))), **more)
    return start_cluster(settings, world.access(), 30.0, world.index).cluster


def now(world: World) -> ClusterDescription:
    cluster = read_cluster(world.logs)
    assert cluster is not None
    return cluster


@pytest.mark.parametrize("copied", [False, True])
def test_governors_of_two_kinds_come_and_end_with_the_cluster(world: World) -> None:
    cluster = started(world)

    here = add(world, LocalGovernors((1, 2)), cluster)
    away = add(world, RemoteGovernors(("localhost",)), cluster)
    stopped = stop_cluster(now(world), world.index, 30.0)

    assert [member.name for member in here.members] == ["governor-1", "governor-2"]
    assert [(member.name, member.host) for member in away.members] == [("governor-3", "localhost")]
    assert len(stopped.named(ProcessEnding.STOPPED)) == 5
    assert world.left() == []


def test_governors_that_are_added_are_told_what_the_others_were(
    world: World, tmp_path: Path
) -> None:
    config = tmp_path / "executors.toml"
    cluster = started(world, governor_config=config, cache_limit="50G", work_folder=tmp_path / "w")

    add(world, LocalGovernors((1,)), cluster)

    told = [world.notes(name)["arguments"] for name in ("governor-0", "governor-1")]
    words = ["--config", str(config), "--cache-limit", "50G"]
    for number, arguments in enumerate(told):
        assert f" {' '.join(words)} " in " ".join(arguments)
        assert str(tmp_path / "w" / f"governor-{number}") in arguments
        assert cluster.address in arguments
    assert "--share=1/2" in told[1]


def test_when_one_of_them_dies_none_is_left_and_the_cluster_goes_on(world: World) -> None:
    cluster = started(world)

    with pytest.raises(StartError, match="governor-2 ended with status 3 before it was ready"):
        add(world, LocalGovernors((1, 1)), cluster, governor_2="dies")

    assert now(world) == cluster
    assert world.left() == ["governor-0 pid", "server pid"]


def test_nothing_is_added_while_another_command_adds(world: World) -> None:
    cluster = started(world)

    with changing(world.logs), pytest.raises(StartError, match="another command changes"):
        add(world, LocalGovernors((1,)), cluster)

    assert now(world) == cluster


def test_nothing_is_added_to_a_cluster_whose_server_has_died(world: World) -> None:
    cluster = started(world)
    os.kill(cluster.server.mark.pid, signal.SIGKILL)
    os.waitpid(cluster.server.mark.pid, 0)

    with pytest.raises(StartError, match=r"the server of the cluster at .* has died"):
        add(world, LocalGovernors((1,)), cluster)


def test_a_kind_whose_number_follows_the_work_is_named_so_that_jobs_and_files_can_be(
    world: World,
) -> None:
    cluster = started(world)
    for name in ("two words", "server", "governor", "-x"):
        with pytest.raises(StartError, match=f"--kind '{name}' is not a name for governors"):
            read_order("local", {"max": 3, "kind": name}).add_to(cluster)
    assert read_cluster(world.logs) == cluster


def test_jobs_of_a_kind_need_a_server_that_they_can_reach(world: World) -> None:
    with pytest.raises(StartError, match="jobs on other machines cannot reach a server"):
        read_order("slurm", {"max": 3}).add_to(started(world))


@pytest.mark.parametrize(
    ("governors", "words"),
    [
        (
            RemoteGovernors(("localhost", "node7")),
            "the governor on node7 cannot reach a server that listens",
        ),
        (BatchGovernors("slurm", 2), "jobs on other machines cannot reach a server that listens"),
    ],
)
def test_governors_that_cannot_reach_the_server_are_refused(
    world: World, governors: Governors, words: str
) -> None:
    cluster = started(world)
    assert split_address(cluster.server.address)[0] == "127.0.0.1"

    with pytest.raises(StartError, match=words):
        add(world, governors, cluster)
