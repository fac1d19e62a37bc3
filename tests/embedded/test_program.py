"""The one process of an embedded cluster, as its client sees it."""

import os
import signal
from pathlib import Path

import pytest

from rain.client import Client, RainException
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
