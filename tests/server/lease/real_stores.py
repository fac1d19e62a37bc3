"""etcd and PostgreSQL as processes of a test, run by a normal user."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from glob import glob
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

READY_SECONDS = 30.0


def free_ports(count: int) -> list[int]:
    found = [socket.socket() for _ in range(count)]
    try:
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]
    finally:
        for one in found:
            one.close()


@contextmanager
def etcd(folder: Path) -> Generator[str]:
    """One member; its URL without the name of a cluster."""
    client, peer = free_ports(2)
    clients, peers = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    with (folder / "etcd.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("etcd", "--data-dir", str(folder / "etcd")),
                *("--listen-client-urls", clients, "--advertise-client-urls", clients),
                *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
                *("--initial-cluster", f"default={peers}"),
            ],
            stdout=log,
            stderr=log,
        )
    try:
        due = time.monotonic() + READY_SECONDS
        while not _is_healthy(client):
            assert process.poll() is None, (folder / "etcd.log").read_text(encoding="utf-8")
            assert time.monotonic() < due, "etcd is not ready"
            time.sleep(0.05)
        yield f"etcd://127.0.0.1:{client}"
    finally:
        process.kill()
        process.wait()


def _is_healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5.0)
    try:
        connection.request("GET", "/health")
        return b"true" in connection.getresponse().read()
    except OSError:
        return False
    finally:
        connection.close()


PROGRAMS = max(glob("/usr/lib/postgresql/*/bin"), default="")  # noqa: PTH207


@contextmanager
def postgresql() -> Generator[str]:
    """A database; its URL without the name of a cluster.

    It is another user's where root runs the tests. So it is beside pytest's own folders, which each
    start of pytest closes to others.
    """
    with TemporaryDirectory(prefix="rain-postgresql-", dir="/var/tmp") as folder:
        yield from _database(Path(folder))


def _database(home: Path) -> Generator[str]:
    (port,) = free_ports(1)
    as_user: list[str] = []
    if os.geteuid() == 0:  # which PostgreSQL refuses
        user = pwd.getpwnam("nobody")
        os.chown(home, user.pw_uid, user.pw_gid)
        runuser = shutil.which("runuser")
        assert runuser is not None
        as_user = [runuser, "-u", "nobody", "--"]
    data = str(home / "data")
    subprocess.run(
        [*as_user, f"{PROGRAMS}/initdb", "-D", data, "-A", "trust", "-U", "t", "--no-sync"],
        check=True,
        capture_output=True,
        cwd="/",
    )
    options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1"
    control = [*as_user, f"{PROGRAMS}/pg_ctl", "-D", data, "-w", "-s", "-l", str(home / "log")]
    subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True, cwd="/")
    try:
        yield f"postgresql://t@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd="/")
