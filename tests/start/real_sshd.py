"""A real sshd on a high port of this machine, and the settings of an ssh that reaches it."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.launchers.real_slurm import free_ports
from tests.support.waiting import until_now

SSHD = Path("/usr/sbin/sshd")
HOSTS = "node1 node2 login"


@contextmanager
def real_sshd(folder: Path, address: str = "127.0.0.1", on: Sequence[str] = ()) -> Generator[Path]:
    """Starts it; the settings of ssh, in which this machine has the names in HOSTS.

    `on` is the command that starts it on another machine, which has this address.
    It lets the user of the tests in with a key. The tests share no home folder with it.
    """
    folder.mkdir(mode=0o700)
    (port,) = free_ports(1)
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    (folder / "sshd_config").write_text(
        f"Port {port}\n"
        f"ListenAddress {address}\n"
        f"HostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/user.pub\n"
        "PidFile none\n"
        "UsePAM no\n"
        "PasswordAuthentication no\n"
        "PermitRootLogin yes\n"
        "StrictModes no\n"
        "MaxStartups 100\n"
    )
    settings = folder / "ssh_config"
    settings.write_text(
        f"Host {HOSTS}\n"
        f"  HostName {address}\n"
        f"  Port {port}\n"
        f"  User {getpass.getuser()}\n"
        f"  IdentityFile {folder}/user\n"
        "  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n"
        "  StrictHostKeyChecking no\n"
        "  LogLevel ERROR\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # its processes without privileges are kept there
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen(
            [*on, str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")], stdout=log, stderr=log
        )
    try:
        until_now(partial(_listens, (address, port), process, folder / "sshd.log"))
        yield settings
    finally:
        process.terminate()
        process.wait()


def _listens(where: tuple[str, int], process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    with socket.socket() as probe:
        return probe.connect_ex(where) == 0
