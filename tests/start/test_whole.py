"""Whole clusters of real daemons, started, used, looked at and stopped."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from attrs import field, frozen

from rain.client import Client, ConnectionException, blob, tasks
from rain.start import processes
from rain.start.clusters import ClusterDescription, read_cluster
from rain.start.ending import end_processes
from tests.start.world import LOCAL_SSH, ROOT
from tests.support.tls import keep, keys_of

pytestmark = pytest.mark.whole


@frozen
class Place:
    """A folder that a user is in, with a file that has the name of a module of Python."""

    folder: Path
    logs: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "logs", self.folder / "logs")

    def rain(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "rain", *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "XDG_STATE_HOME": str(self.folder / "state"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *arguments: str) -> ClusterDescription:
        started = self.rain(
            *("start", "--listen", "127.0.0.1:0", "--logdir", str(self.logs), *arguments)
        )
        assert (started.returncode, started.stderr) == (0, "")
        cluster = read_cluster(self.logs)
        assert cluster is not None
        return cluster


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    (tmp_path / "queue.py").write_text("raise SystemExit('the wrong module')\n")
    place = Place(tmp_path)
    yield place
    cluster = read_cluster(place.logs)
    if cluster is not None:
        end_processes([member.mark for member in cluster.members], 0.0)


def joined(address: str, secret_file: str | None = None, tls: Path | None = None) -> bytes:
    """What a task of a session at a server makes of two words."""
    with (
        Client(*address.rsplit(":", 1), secret_file=secret_file, tls=tls) as client,
        client.new_session("words", default=True) as words,
    ):
        task = tasks.Concat((blob("rain "), blob("falls")))
        task.output.keep()
        words.submit()
        result: bytes = task.output.fetch().get_bytes()
        return result


def test_a_cluster_is_started_used_looked_at_and_stopped(place: Place) -> None:
    cluster = place.start("--local-governors=[2,1]", "--workdir", str(place.folder / "work"))

    assert joined(cluster.address, cluster.secret_file) == b"rain falls"
    looked = place.rain("status", "--json")
    assert (looked.returncode, looked.stderr) == (0, "")
    status = json.loads(looked.stdout)
    assert status["address"] == cluster.address
    assert sorted(governor["cpus"] for governor in status["governors"]) == [1, 2]
    assert {path.name for path in (place.folder / "work").iterdir()} == {
        "governor-0",
        "governor-1",
        "server",
    }

    stopped = place.rain("stop")

    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout == (
        f"The cluster at {cluster.address} has ended; its logs are in {place.logs}\n"
    )
    assert not [member for member in cluster.members if processes.is_running(member.mark)]
    gone = place.rain("status", cluster.address)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr.count("\n") == 1


def test_a_cluster_on_several_hosts_is_encrypted(place: Place) -> None:
    hosts = place.folder / "hosts"
    hosts.write_text("localhost\n")
    keys = keys_of()

    cluster = place.start(
        *("--governor-host-file", str(hosts), "--ssh", str(LOCAL_SSH), "--tls", str(keys)),
        *("--remote-init", f"export PYTHONPATH={ROOT}"),
    )

    assert (cluster.tls, cluster.secret_file) == (str(keys), "")
    with pytest.raises(ConnectionException, match="everything is encrypted there"):
        joined(cluster.address)
    assert joined(cluster.address, tls=keys) == b"rain falls"
    looked = place.rain("status", "--json")
    assert (looked.returncode, looked.stderr) == (0, "")
    assert len(json.loads(looked.stdout)["governors"]) == 1
    assert json.loads(looked.stdout)["sessions"] == []
    token = place.rain("token").stdout.strip()
    assert len(token) == 64
    assert place.rain("token", "--url").stdout == f"https://rain:{token}@{cluster.http}/\n"
    for member in cluster.members:
        shown = Path(f"/proc/{member.mark.pid}/cmdline").read_bytes()
        assert b"PRIVATE" not in shown
    assert place.rain("stop").returncode == 0


def test_a_start_with_certificates_that_are_not_whole_starts_nothing(place: Place) -> None:
    keys = place.folder / "keys"
    keys.mkdir()
    keep(keys / "server.pem", (keys_of() / "server.pem").read_bytes())
    hosts = place.folder / "hosts"
    hosts.write_text("localhost\n")
    way = ("--governor-host-file", str(hosts), "--ssh", str(LOCAL_SSH), "--tls", str(keys))
    started = place.rain("start", *way, "--logdir", str(place.logs))
    assert started.returncode == 1
    assert started.stderr.count("\n") == 1
    assert "governor.pem cannot be read" in started.stderr


def test_a_cluster_on_several_hosts_is_started_used_and_stopped(place: Place) -> None:
    hosts = place.folder / "hosts"
    hosts.write_text("localhost  # twice, which is as good as two\nlocalhost\n")

    cluster = place.start(
        *("--governor-host-file", str(hosts), "--ssh", str(LOCAL_SSH)),
        *("--remote-init", f"export PYTHONPATH={ROOT}"),
    )

    # It has a secret, which came to the governors without being seen.
    secret = Path(cluster.secret_file)
    assert secret.parent == place.logs
    assert secret.stat().st_mode & 0o777 == 0o600
    for member in cluster.members:
        shown = Path(f"/proc/{member.mark.pid}/cmdline").read_bytes()
        assert secret.read_bytes().strip() not in shown
    with pytest.raises(ConnectionException, match="secret"):
        joined(cluster.address)
    assert joined(cluster.address, cluster.secret_file) == b"rain falls"
    looked = place.rain("status", "--json")
    assert (looked.returncode, looked.stderr) == (0, "")
    assert len(json.loads(looked.stdout)["governors"]) == 2
    assert json.loads(looked.stdout)["sessions"] == []
    stopped = place.rain("stop")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert not [member for member in cluster.members if processes.is_running(member.mark)]


def test_a_port_in_use_is_told_in_the_words_of_the_server(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"

        started = place.rain("start", "--simple", "--listen", address)

    assert (started.returncode, started.stdout) == (1, "")
    assert "rain: server ended with status 1 before it was ready; its log" in started.stderr
    assert f"| rain: cannot listen on {address}" in started.stderr


def test_twenty_governors_start_together(place: Place) -> None:
    cluster = place.start(f"--local-governors={[1] * 20}")

    assert len(cluster.here()) == 21
    looked = place.rain("status", "--json")
    assert len(json.loads(looked.stdout)["governors"]) == 20
    assert place.rain("stop").returncode == 0
