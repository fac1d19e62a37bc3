"""Whole clusters on a real Slurm with two virtual nodes of this machine."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.base.wire.requests import WhatHoldsUp
from rain.cluster import Cluster
from rain.launchers.interface import Job, JobState
from rain.launchers.slurm import Slurm
from tests.launchers.real_slurm import real_slurm
from tests.support.waiting import until_now

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(shutil.which("slurmctld") is None, reason="apt install slurm-wlm"),
]


WITHOUT_GOVERNORS = pytest.mark.filterwarnings("ignore::rain.client.RainWarning")
"""A waiting program is told that no governor is there yet."""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with real_slurm(tmp_path_factory.mktemp("slurm")) as settings:
        yield settings


@pytest.fixture(autouse=True)
def place(slurm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLURM_CONF", str(slurm))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def node(number: int, seconds: float = 0.0) -> tuple[int, str]:
    time.sleep(seconds)
    return number, os.environ["SLURMD_NODENAME"]


def queue() -> list[str]:
    """The jobs of Slurm that have not ended."""
    command = ["squeue", "--noheader", "--format=%j"]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    return asked.stdout.split()


def test_tasks_run_in_jobs_and_no_job_outlives_the_cluster() -> None:
    with Cluster.slurm(3, cpus=2, wait=2, listen="0", http_listen="0") as cluster:
        states = sorted(job.state for job in cluster.jobs())
        with cluster.client() as client:
            found = client.gather([client.submit(node, n, 0.2) for n in range(12)])

    assert states == ["queued", "running", "running"]  # there are cpus for two of them
    assert [number for number, _ in found] == list(range(12))
    assert {name for _, name in found} == {"n1", "n2"}
    until_now(lambda: not queue())  # what was cancelled while it began is in it for a moment


def test_a_cancelled_job_drains_and_its_tasks_are_not_lost() -> None:
    with Cluster.slurm(2, cpus=1, wait=2, listen="0", http_listen="0") as cluster:
        first = cluster.jobs()[0]
        with cluster.client() as client:
            futures = [client.submit(node, n, 0.5) for n in range(8)]
            Slurm().cancel([first.number])
            found = client.gather(futures)

    assert [number for number, _ in found] == list(range(8))
    until_now(lambda: not queue())


def test_jobs_come_to_a_cluster_of_this_machine_and_end_with_it(place: Path) -> None:
    with Cluster.local([1], listen="0.0.0.0:0", http_listen="0", logdir=place / "l") as cluster:
        cluster.add("slurm", governors=2, cpus=1, wait=2)
        cluster.add("slurm", governors=1, cpus=4, options=["--hold"])
        shown = subprocess.run(
            [sys.executable, "-m", "rain", "status"], capture_output=True, text=True, check=True
        ).stdout
        states = [(job.name, job.state, job.why) for job in cluster.jobs()]
        secrets = {file.read_text() for file in place.rglob("secret")}
        with cluster.client() as client:
            governors = client.get_server_info()["governors"]

    assert states == [
        ("governor-1", "running", ""),
        ("governor-2", "running", ""),
        ("governor-3", "queued", "JobHeldUser"),
    ]
    assert [shown.count(word) for word in ("running", "JobHeldUser")] == [2, 1]
    assert len(governors) == 3
    assert len(secrets) == 1  # that of the cluster is beside the logs of the jobs, too
    until_now(lambda: not queue())


def test_what_is_around_a_governor_is_there_in_its_job(place: Path) -> None:
    with Cluster.slurm(
        1,
        wait=1,
        before="export FIRST=$MINE-first",
        after="echo $FIRST $MINE >ended",
        env={"MINE": "it's mine"},
        scratch="$PWD/scratch/$SLURM_JOB_ID",
        listen="0",
        http_listen="0",
    ) as cluster:
        scratch = place / "scratch" / cluster.jobs()[0].number
        with cluster.client() as client:
            told = client.submit(lambda: (os.environ["FIRST"], os.environ["MINE"])).result()
            kept = [folder.name for folder in scratch.iterdir()]

    assert told == ("it's mine-first", "it's mine")
    assert kept == ["governor-0"]
    until_now(lambda: not queue())
    assert (place / "ended").read_text() == "it's mine-first it's mine\n"
    assert not list(scratch.iterdir())


def test_what_slurm_refuses_is_told_in_its_words_and_nothing_is_left() -> None:
    with pytest.raises(StartError, match="invalid partition specified: nowhere"):
        Cluster.slurm(2, options=["--partition=nowhere"], listen="0", http_listen="0")

    until_now(lambda: not queue())


def test_a_job_whose_first_commands_fail_is_shown_as_ended_with_what_they_said() -> None:
    with pytest.raises(StartError, match="failed, NonZeroExitCode, status 3: no such module"):
        Cluster.slurm(
            1,
            before="echo no such module; exit 3",
            wait=1,
            listen="0",
            http_listen="0",
        )


def test_a_time_limit_that_is_too_long_for_the_partition_is_why_a_job_waits(
    place: Path,
) -> None:
    launcher = Slurm()
    job = Job("long", "#!/bin/sh\n", place, place / "out", seconds=5 * 3600)

    number = launcher.submit(job)
    standing = launcher.look([number])[number]
    launcher.cancel([number])

    assert standing.state is JobState.QUEUED
    assert standing.why.startswith("Partition")


@WITHOUT_GOVERNORS
def test_governors_come_with_a_burst_of_work_and_go_after_it() -> None:
    with (
        Cluster.slurm(maximum=2, cpus=1, idle=2.0, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        assert not queue()
        found = client.gather([client.submit(node, n, 0.5) for n in range(60)])
        names = [job.name for job in cluster.jobs()]
        until_now(lambda: not queue())

    assert [number for number, _ in found] == list(range(60))
    assert names == ["governor-0", "governor-1"]


@WITHOUT_GOVERNORS
def test_a_job_that_is_cancelled_in_the_middle_is_replaced() -> None:
    with (
        Cluster.slurm(maximum=1, cpus=1, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        futures = [client.submit(node, n, 0.5) for n in range(20)]
        client.wait(futures, num_returns=2)
        (job,) = cluster.jobs()
        subprocess.run(["scancel", job.number], check=True)
        found = client.gather(futures)
        (other,) = cluster.jobs()

    assert [number for number, _ in found] == list(range(20))
    assert other.number != job.number


TWO_KINDS = """
launcher = "slurm"
cpus = 1
listen = 0
http-listen = 0
idle = "2s"

[[kinds]]
max = 1
options = ["--partition=main"]

[[kinds]]
kind = "long"
max = 1
options = ["--partition=long"]
[kinds.resource]
licence = 1
[kinds.env]
KIND = "of the long one"
"""


def place_of(_: int) -> tuple[str, str]:
    return os.environ["SLURM_JOB_PARTITION"], os.environ.get("KIND", "")


@WITHOUT_GOVERNORS
def test_each_task_gets_a_governor_of_the_kind_that_it_needs(place: Path) -> None:
    (place / "cluster.toml").write_text(TWO_KINDS)
    with Cluster.from_file("cluster.toml") as cluster, cluster.client() as client:
        assert not queue()
        assert client.submit(place_of, 1).result() == ("main", "")
        assert queue() == ["rain-governor-0"]
        licensed = client.options(resources={"licence": 1})
        assert licensed.submit(place_of, 2).result() == ("long", "of the long one")
        until_now(lambda: not queue())


@WITHOUT_GOVERNORS
def test_what_slurm_says_of_a_job_that_waits_is_told_to_those_who_wait() -> None:
    with (
        Cluster.slurm(
            maximum=1, cpus=1, listen="0", http_listen="0", options=["--begin=now+1hour"]
        ) as cluster,
        cluster.client() as client,
    ):
        future = client.submit(node, 1)

        def says() -> bool:
            return "is queued (BeginTime)" in str(client.connection.ask(WhatHoldsUp()).each)

        until_now(says)
        future.cancel()

    assert not queue()
