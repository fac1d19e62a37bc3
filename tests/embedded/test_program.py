"""The one process of an embedded cluster, as its client sees it."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, RainException, TaskException
from rain.client.local import LocalCluster
from tests.support.waiting import until_now

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("cluster_folders")]


def test_a_call_runs_below_the_process_that_the_client_speaks_to() -> None:
    with Client(cpus=1) as client:
        cluster = client.housekeeper.cluster
        assert isinstance(cluster, LocalCluster)
        assert client.submit(os.getppid).result() == cluster.pids[0]


def test_files_of_tasks_have_the_mask_of_the_user(tmp_path: Path) -> None:
    def make(place: Path) -> int:
        place.touch()
        return place.stat().st_mode & 0o777

    before = os.umask(0o027)
    try:
        with Client(cpus=1) as client:
            assert client.submit(make, tmp_path / "made").result() == 0o640
    finally:
        os.umask(before)


def test_an_option_that_the_governor_cannot_have_is_told_by_its_name() -> None:
    with pytest.raises(RainException, match="--memory") as caught:
        LocalCluster(governor_options=("--memory", "plenty"))
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("governors", [1, 2])
def test_a_client_says_what_each_governor_offers_and_who_plans(
    governors: int, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "from rain.scheduler.shipped import SCHEDULERS\n"
        "print('mine')\n"
        "class Mine(SCHEDULERS['rain']): pass\n"
    )
    with Client(
        cpus=1,
        governors=governors,
        memory="1GiB",
        resources={"licence": 2, "gpus": 1},
        scheduler=f"{tmp_path}/mine.py:Mine",
    ) as client:
        offered = [one["resources"] for one in client.get_server_info()["governors"]]
        assert offered == [{"cpus": 1, "gpus": 1, "licence": 2, "memory": 2**30}] * governors
        assert client.options(resources={"licence": 2}).submit(pow, 2, 3).result() == 8
        cluster = client.housekeeper.cluster
        assert isinstance(cluster, LocalCluster)
        assert "mine" in (cluster.folder / "server" / "output").read_text()


def test_what_its_only_governor_can_never_run_fails_at_once_with_the_numbers() -> None:
    with Client(cpus=1, memory="1GiB") as client:
        large = client.options(memory="1TiB").submit(pow, 2, 3)
        with pytest.raises(TaskException) as failed:
            large.result(timeout=20)  # less than a server waits for another governor
        assert "needs cpus=1, memory=1TiB" in str(failed.value)
        assert "the only governor does not have (cpus=1, memory=1GiB)" in str(failed.value)
        assert client.submit(pow, 2, 3).result() == 8


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"memory": "much"}, "^memory: .* 'much' is not a size"),
        ({"resources": {"cpus": 2}}, "resources: cpus has an argument of its own, cpus=2$"),
        ({"resources": {"licence": 0.5}}, "resources: .* must be a whole number, not 0.5"),
        ({"resources": ["gpus"]}, 'resources is .*; write for instance {"licence": 2}$'),
        ({"scheduler": int}, "scheduler is .*; it must be a name or 'FILE.py:CLASS'"),
        ({"local": True, "memory": "1G"}, "leave memory out"),
        ({"address": "here", "scheduler": "rain"}, "^scheduler would describe a cluster"),
    ],
)
def test_what_a_client_cannot_offer_is_told_before_anything_starts(
    options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(RainException, match=why):
        Client(**options)
    assert not list(tmp_path.glob("**/rain-local*"))


def test_a_call_that_ends_the_process_is_told_and_leaves_no_executor(tmp_path: Path) -> None:
    def deadly(place: Path) -> None:
        place.write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()

    with Client(cpus=1) as client:
        future = client.submit(deadly, tmp_path / "pid")
        with pytest.raises(RainException, match="the embedded server was killed by SIGKILL"):
            future.result()
    executor = Path("/proc") / (tmp_path / "pid").read_text()
    until_now(lambda: not executor.exists())
