"""A program starts a cluster of its own, finds one that runs, and ends it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.cluster import Cluster

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("own_state")]


def test_a_cluster_works_until_the_end_of_its_block_and_is_found_meanwhile(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    with Cluster.local([1, 2], listen="0", http_listen="0", logdir=logs) as cluster:
        with cluster.client() as client:
            assert client.gather(client.map(abs, [-1, -2])) == [1, 2]
            governors = client.get_server_info()["governors"]
        found = Cluster.running()

    assert sorted(governor["resources"]["cpus"] for governor in governors) == [1, 2]
    assert (found.address, found.log_folder) == (cluster.address, logs)
    assert repr(found) == f"<Cluster at {cluster.address}, logs in {logs}>"
    assert found.jobs() == []
    with pytest.raises(StartError, match="no cluster of yours runs"):
        Cluster.running()


def test_a_cluster_is_what_its_file_says(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text("local-governors = '[1]'\nlisten = 0\nhttp-listen = 0\n")

    with (
        Cluster.from_file("cluster.toml", local_governors="[2]") as cluster,
        cluster.client() as client,
    ):
        (governor,) = client.get_server_info()["governors"]

    assert governor["resources"]["cpus"] == 2


def test_governors_are_added_to_a_cluster_that_runs() -> None:
    with Cluster.local([1], listen="0", http_listen="0") as cluster:
        Cluster.running().add("local", governors=2, cpus=3)
        with pytest.raises(StartError, match="rain start local has no option 'listen'"):
            cluster.add("local", listen="0")
        with cluster.client() as client:
            governors = client.get_server_info()["governors"]

    assert sorted(governor["resources"]["cpus"] for governor in governors) == [1, 3, 3]


def test_what_is_around_a_governor_is_there_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text("""
        launcher = "local"
        cpus = 1
        listen = 0
        http-listen = 0
        before = "export FIRST=$MINE-first"
        after = "echo $FIRST >ended"
        scratch = "$PWD/$MINE"
        [env]
        MINE = 7
    """)
    with Cluster.from_file("cluster.toml") as cluster, cluster.client() as client:
        assert client.submit(os.getenv, "FIRST").result() == "7-first"
        assert [folder.name for folder in (tmp_path / "7").iterdir()] == ["governor-0"]

    assert (tmp_path / "ended").read_text() == "7-first\n"


def test_daemons_work_as_the_program_says() -> None:
    with (
        Cluster.local([1], listen="0", scheduler="random", memory="1G", log_level="error") as made,
        made.client() as client,
    ):
        (governor,) = client.get_server_info()["governors"]
        logs = made.log_folder

    assert governor["resources"] == {"cpus": 1, "memory": 2**30}
    assert (logs / "server.err").read_text() == ""


def test_a_misspelled_amount_starts_nothing() -> None:
    with pytest.raises(ValueError, match="'60' is not a time limit"):
        Cluster.slurm(2, time="60")
    with pytest.raises(StartError, match="no launcher 'slrum'"):
        Cluster.batch("slrum", 2, listen="0", http_listen="0")
    with pytest.raises(StartError, match="no cluster of yours runs"):
        Cluster.running()
