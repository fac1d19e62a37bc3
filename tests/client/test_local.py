"""How the embedded cluster treats its processes, with doubles in the place of the daemons."""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from rain.client import RainException, local, local_daemon
from rain.client.local import RAIN, LocalCluster
from rain.daemon.work_folder import WorkFolder

DOUBLE = (sys.executable, str(Path(__file__).parent / "daemon_double.py"))
PATIENCE = 20.0

# A client that starts a cluster, says what belongs to it, and waits until it is killed.
VICTIM = """
import sys
from rain.client.local import RAIN, LocalCluster
cluster = LocalCluster(governors=int(sys.argv[1]), command=sys.argv[2:])
print(cluster.folder, *cluster.pids, flush=True)
sys.stdin.read()
"""

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("cluster_folders")]


def wait_for_the_end_of(pids: list[int]) -> None:
    """Returns when none of these processes runs any more."""
    watched: set[int] = set()
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                watched.add(os.pidfd_open(pid))
        running = set(watched)
        while running:
            ended, _, _ = select.select(sorted(running), [], [], PATIENCE)
            assert ended, f"some of {pids} still run"
            running.difference_update(ended)
    finally:
        for descriptor in watched:
            os.close(descriptor)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 # counted, not walked


def test_a_cluster_starts_and_leaves_nothing_behind(cluster_folders: Path) -> None:
    descriptors = open_descriptors()

    cluster = LocalCluster(cpus=2, governors=2, command=DOUBLE)
    assert (cluster.host, cluster.port) == ("127.0.0.1", 12345)
    assert len(cluster.pids) == 4
    cluster.close()
    cluster.close()

    wait_for_the_end_of(cluster.pids)
    assert list(cluster_folders.iterdir()) == []
    assert open_descriptors() == descriptors


@pytest.mark.parametrize(("frozen", "executable"), [(True, "/opt/app"), (False, "")])
def test_a_program_that_is_no_python_starts_no_copies_of_itself(
    monkeypatch: pytest.MonkeyPatch, cluster_folders: Path, frozen: bool, executable: str
) -> None:
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    monkeypatch.setattr(sys, "executable", executable)

    with pytest.raises(RainException, match=f"needs Python, and '{executable}' is this program"):
        LocalCluster(command=DOUBLE)

    assert not list(cluster_folders.iterdir())


def test_a_daemon_that_dies_at_start_is_quoted_and_its_logs_stay(
    cluster_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE", "die")
    descriptors = open_descriptors()

    with pytest.raises(RainException) as caught:
        LocalCluster(governors=20, command=DOUBLE)

    (folder,) = cluster_folders.iterdir()
    assert "embedded governor-19 ended with status 1" in str(caught.value)
    assert "the address is in use" in str(caught.value)
    assert f"its logs are in {folder / 'governor-19'}" in str(caught.value)
    assert (folder / "governor-19" / "output").exists()
    assert (folder / "governor-0" / "output").read_text() == ""
    assert open_descriptors() == descriptors


def test_governors_that_cannot_even_be_copied_are_explained(
    cluster_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE", "none")
    descriptors = open_descriptors()

    with pytest.raises(RainException, match="pycapnp is not installed") as caught:
        LocalCluster(governors=2, command=DOUBLE)

    (folder,) = cluster_folders.iterdir()
    assert "The embedded governors ended with status 1 before" in str(caught.value)
    assert f"logs are in {folder}" in str(caught.value)
    assert open_descriptors() == descriptors


@pytest.mark.parametrize("governors", [1, 2])
def test_a_start_that_is_interrupted_leaves_nothing_behind(
    cluster_folders: Path, monkeypatch: pytest.MonkeyPatch, governors: int
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    where = {1: (local_daemon.Daemon, "wait_until_ready"), 2: (local, "wait_for_copies")}
    monkeypatch.setattr(*where[governors], interrupted)
    descriptors = open_descriptors()
    with pytest.raises(KeyboardInterrupt):
        LocalCluster(governors=governors, command=DOUBLE)
    assert list(cluster_folders.iterdir()) == []
    assert open_descriptors() == descriptors


def test_a_daemon_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOUBLE", "mute")
    monkeypatch.setattr(local_daemon, "START_SECONDS", 0.01)

    with pytest.raises(RainException, match="server is not ready after"):
        LocalCluster(command=DOUBLE)


def test_a_daemon_that_does_not_stop_is_killed(
    cluster_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE", "stubborn")
    monkeypatch.setattr(local, "STOP_SECONDS", 0.01)
    cluster = LocalCluster(command=DOUBLE)

    cluster.close()

    wait_for_the_end_of(cluster.pids)
    assert list(cluster_folders.iterdir()) == []


def test_the_logs_of_a_daemon_that_ended_by_itself_stay_and_are_named(
    cluster_folders: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = LocalCluster(governors=2, command=DOUBLE)
    governor = cluster.pids[1]
    os.kill(governor, signal.SIGKILL)
    wait_for_the_end_of([governor])

    cluster.close()

    (message,) = caplog.messages
    assert message.startswith("the embedded governor-0 has ended by itself with status -9;")
    assert message.endswith(f"all logs stay in {cluster.folder}")
    assert (cluster.folder / "governor-0" / "output").exists()


def test_one_governor_is_a_part_of_its_server(cluster_folders: Path) -> None:
    descriptors = open_descriptors()

    cluster = LocalCluster(command=DOUBLE)
    assert len(cluster.pids) == 2  # with the shell that cleans up
    cluster.close()

    wait_for_the_end_of(cluster.pids)
    assert list(cluster_folders.iterdir()) == []
    assert open_descriptors() == descriptors


@pytest.mark.parametrize("governors", ["1", "2"])
@pytest.mark.parametrize("command", [DOUBLE, RAIN], ids=["doubles", "daemons"])
def test_nothing_outlives_a_client_that_is_killed(
    cluster_folders: Path, command: tuple[str, ...], governors: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", VICTIM, governors, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as victim:
        assert victim.stdout is not None
        folder, *pids = victim.stdout.readline().split()
        assert Path(folder).is_dir()

        victim.kill()

        wait_for_the_end_of([int(pid) for pid in pids])
    assert list(cluster_folders.iterdir()) == []


def test_a_cluster_has_a_governor_and_a_cpu() -> None:
    for cpus, governors in ((1, 0), (0, 1)):
        with pytest.raises(RainException, match="is 0; it must be a whole number, and at least 1"):
            LocalCluster(cpus, governors)


def test_the_folder_stays_whatever_becomes_of_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: programs that the shell of the janitor might call for its input say nothing
    for name in ("cat", "head", "dd"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    work = WorkFolder.make(tmp_path / "rain-local-mine", "")
    read, write = os.pipe()
    # when: the folder shall be kept
    janitor = local._start_janitor(work, read)  # pyright: ignore[reportPrivateUsage]
    with suppress(BrokenPipeError):
        os.write(write, b"keep")
    os.close(read)
    os.close(write)
    janitor.wait(PATIENCE)
    # then
    assert work.path.is_dir()
