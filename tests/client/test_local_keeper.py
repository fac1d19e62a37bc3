"""What becomes of an embedded cluster when one of its processes dies."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, ConnectionException, TaskException, remote
from rain.client.local import LocalCluster
from rain.client.local_keeper import CALM, IN_A_ROW, DeathsInARow
from tests.support.waiting import until_now

DOUBLE = (sys.executable, str(Path(__file__).parent / "daemon_double.py"))
PATIENCE = 30.0

pytestmark = pytest.mark.usefixtures("cluster_folders")


def test_a_governor_that_has_lived_for_long_begins_a_new_row_of_deaths() -> None:
    row = DeathsInARow()
    assert not any(row.is_too_long(1.0) for _ in range(IN_A_ROW - 1))
    assert not row.is_too_long(CALM + 1.0)
    assert not any(row.is_too_long(1.0) for _ in range(IN_A_ROW - 2))
    assert row.is_too_long(1.0)
    assert row.deaths == IN_A_ROW


@pytest.mark.whole
def test_governors_that_die_again_and_again_are_named_and_started_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DOUBLE", "short")
    cluster = LocalCluster(governors=2, command=DOUBLE)
    given_up = threading.Event()

    cluster.watch(given_up.set)

    assert given_up.wait(PATIENCE)
    told = cluster.why_lost()
    assert f"has died {IN_A_ROW} times in a row: at last it has ended with status 3" in told
    assert told.startswith("the embedded governor-")
    assert told.endswith(f"all logs are in {cluster.folder}")
    assert len(caplog.messages) == IN_A_ROW - 1
    assert "another one takes its place" in caplog.messages[0]
    cluster.close()
    assert cluster.folder.exists()


@pytest.mark.whole
def test_a_governor_that_is_replaced_leaves_no_descriptors_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 # counted, not walked
    cluster = LocalCluster(governors=2, command=DOUBLE)
    cluster.watch(lambda: None)
    first = cluster.pids[1]
    os.kill(first, signal.SIGTERM)  # it ends in order, and the server goes on

    second = next_governor(cluster, first)

    assert second != first
    cluster.close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def next_governor(cluster: LocalCluster, before: int) -> int:
    return until_now(lambda: 0 if cluster.pids[1] == before else cluster.pids[1])


@remote()
def deadly(ctx: Any, folder: str, lives: int) -> str:
    """Kills its governor so often."""
    deaths = len(list(Path(folder).iterdir()))
    if deaths < lives:
        (Path(folder) / str(deaths)).touch()
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return f"after {deaths}"


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:.*the cluster has no governor")  # for a moment
def test_governors_of_a_client_are_replaced_and_their_task_runs_again(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    with (
        Client(cpus=1, governors=2) as client,
        client.new_session("killed", on_failure="continue") as session,
    ):
        once = deadly(str(marks), 1)
        once.output.keep()
        session.submit()
        assert once.output.fetch().get_bytes() == b"after 1"
        ever = deadly(str(marks), 10_000)
        session.submit()
        with pytest.raises(TaskException, match="governor"):
            ever.wait()


@pytest.mark.whole
@pytest.mark.parametrize("governors", [1, 2])
def test_the_death_of_the_embedded_server_is_told_by_name(governors: int) -> None:
    with Client(cpus=1, governors=governors) as client, client.new_session("killed") as session:

        @remote()
        def kill(ctx: Any, pid: int) -> str:
            os.kill(pid, signal.SIGKILL)
            signal.pause()
            return ""

        cluster = client.housekeeper.cluster
        assert isinstance(cluster, LocalCluster)
        task = kill(cluster.pids[0])
        session.submit()
        told = rf"^the embedded server was killed by SIGKILL; all logs are in {cluster.folder}$"
        with pytest.raises(ConnectionException, match=told):
            task.wait()
        with pytest.raises(ConnectionException, match=told):
            client.get_server_info()
