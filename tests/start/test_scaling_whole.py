"""Clusters whose number of governors follows the work, on this machine."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial

import pytest

from rain.base.errors import StartError
from rain.cluster import Cluster
from rain.start.clusters import read_cluster
from rain.start.processes import is_running
from tests.launchers.real_slurm import free_ports
from tests.start.commands import run_rain, started
from tests.support.waiting import until_now

pytestmark = [
    pytest.mark.whole,
    pytest.mark.usefixtures("own_state"),
    # A waiting program is told that no governor is there yet.
    pytest.mark.filterwarnings("ignore::rain.client.RainWarning"),
]


def nap(number: int, seconds: float = 0.5) -> tuple[int, int]:
    time.sleep(seconds)
    return number, os.getppid()


def has_none(cluster: Cluster) -> bool:
    return not cluster.jobs()


def test_governors_come_with_the_work_and_go_after_it() -> None:
    with (
        Cluster.local(1, maximum=2, idle=1.0, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        assert cluster.jobs() == []
        found = client.gather([client.submit(nap, n, 1.0) for n in range(40)])
        assert [number for number, _ in found] == list(range(40))
        assert started(cluster) == 2
        until_now(partial(has_none, cluster))
        status = run_rain("status", cluster.address)

    assert "Scaling local: wants 0 of 2: nothing waits." in status
    assert status.count(": was released") == 2


def test_data_that_somebody_needs_keeps_the_last_governor() -> None:
    with (
        Cluster.local(1, maximum=1, idle=0.5, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        large = client.submit(bytes, 300_000)
        client.wait([large])
        time.sleep(3.0)  # for longer than the idle time
        assert started(cluster) == 1
        assert len(large.result()) == 300_000
        assert len(cluster.jobs()) == 1
        del large
        until_now(partial(has_none, cluster))


def test_a_governor_that_is_killed_is_replaced_and_the_results_are_right() -> None:
    with (
        Cluster.local(1, maximum=2, minimum=2, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        futures = [client.submit(nap, n, 0.5) for n in range(30)]
        client.wait(futures, num_returns=3)
        victim = cluster.jobs()[0]
        os.kill(int(victim.number.partition(".")[0]), signal.SIGKILL)
        found = client.gather(futures)
        until_now(lambda: started(cluster) == 3)

    assert [number for number, _ in found] == list(range(30))


def test_another_scaler_takes_the_place_of_one_that_was_killed() -> None:
    (port,) = free_ports(1)  # the server comes back at the same one
    with Cluster.local(
        1, maximum=1, minimum=1, listen=str(port), http_listen="0", journal="journal"
    ) as cluster:
        known = read_cluster(cluster.log_folder)
        assert known is not None
        assert known.scaler is not None
        until_now(lambda: started(cluster) == 1)
        mark = known.scaler.mark
        os.kill(mark.pid, signal.SIGKILL)
        until_now(lambda: not is_running(mark))
        assert "The scaler has ended" in run_rain("status", str(cluster.log_folder))
        run_rain("restart", str(cluster.log_folder))
        with cluster.client() as client:
            assert client.submit(abs, -1).result() == 1
        assert "The scaler has ended" not in run_rain("status", str(cluster.log_folder))
        assert started(cluster) == 1  # the same governor


def where(name: str) -> str:
    return os.environ[name]


def test_a_kind_is_started_for_the_work_that_needs_what_it_has() -> None:
    with (
        Cluster.local(1, maximum=1, idle=1.0, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        own = {"resource": {"licence": 1}, "env": {"KIND": "lab"}}
        cluster.add("local", max=1, cpus=1, idle="1s", kind="lab", **own)
        with pytest.raises(StartError, match="has a kind 'local' already"):
            cluster.add("local", max=2)
        with pytest.raises(StartError, match="the kind 'lab' is started by local, and ssh cannot"):
            cluster.add("ssh", hosts=["localhost"], max=1, kind="lab", ssh="false")
        assert client.submit(abs, -1).result() == 1
        assert [job.name for job in cluster.jobs()] == ["governor-0"]
        licensed = client.options(resources={"licence": 1})
        assert licensed.submit(where, "KIND").result() == "lab"
        assert {job.name for job in cluster.jobs()} >= {"lab-1"}
        until_now(partial(has_none, cluster))
        status = run_rain("status", cluster.address)

    assert "Scaling local: wants 0 of 1: nothing waits." in status
    assert "Scaling lab: wants 0 of 1: nothing waits." in status


def test_a_kind_that_changes_or_is_removed_lets_its_governors_go() -> None:
    with (
        Cluster.local(1, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        words = ["add", "local", "--to", str(cluster.log_folder), "--max", "1", "--kind", "lab"]
        for _ in range(2):  # to say it again changes nothing
            said = run_rain(*words, "--cpus", "1", "--resource", "licence=1")
            assert said == f"{cluster.address} gets lab governors when tasks wait for them.\n"
        one, two = (client.options(resources={"licence": count}) for count in (1, 2))
        assert one.submit(abs, -1).result() == 1
        said = run_rain(*words, "--cpus", "2", "--resource", "licence=2", "--idle", "5m")
        assert said == (
            "lab governors have changed: idle 60 s, now 5 min; cpus 1, now 2; licence 1, now 2.\n"
            "Those that are there drain, and others come when tasks wait for them.\n"
        )
        assert two.submit(abs, -2).result() == 2  # not on the one that was there
        assert [job.name for job in cluster.jobs()] == ["lab-1"]
        assert "starts no lab governors any more; 1 of them leaves." in run_rain(
            "remove", "lab", cluster.address
        )
        until_now(partial(has_none, cluster))
        until_now(lambda: "Scaling lab" not in run_rain("status", cluster.address))
        with pytest.raises(StartError, match="no kind 'lab' of governors that scales: none"):
            cluster.remove("lab")
        assert client.submit(abs, -3).result() == 3


def test_a_cluster_with_a_fixed_number_of_governors_gets_others_with_the_work() -> None:
    with (
        Cluster.local(1, listen="0", http_listen="0") as cluster,
        cluster.client() as client,
    ):
        cluster.add("local", max=1, cpus=1, idle="1s", resource={"licence": 1})
        licensed = client.options(resources={"licence": 1})
        assert licensed.submit(abs, -1).result() == 1
        until_now(partial(has_none, cluster))
        assert client.submit(abs, -2).result() == 2  # the first one stays


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: Cluster.slurm(2, maximum=3), "governors is a fixed number, and maximum= is not"),
    (lambda: Cluster.slurm(maximum=3, wait=1), "--wait and --max cannot be combined"),
    (lambda: Cluster.slurm(maximum=3, largest=2), "--largest needs --cpus"),
    (Cluster.slurm, "give the number of governors, or maximum="),
    (lambda: Cluster.slurm(minimum=1), "minimum= is for a cluster that scales: give maximum="),
    (lambda: Cluster.local(maximum=1, minimum=2), "minimum= 2 is more than maximum= 1"),
    (lambda: Cluster.local([1, 2], maximum=2), "all governors are alike"),
]


@pytest.mark.parametrize(("start", "why"), WRONG)
def test_what_cannot_be_meant_is_refused_before_anything_starts(
    start: Callable[[], object], why: str
) -> None:
    with pytest.raises(StartError, match=why):
        start()
