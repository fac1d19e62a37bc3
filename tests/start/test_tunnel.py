"""A client that reaches a cluster by one forwarded port of ssh, as the guide says."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from rain.client import Client
from rain.common.secret_file import make_secret_file
from tests.launchers.real_slurm import free_ports
from tests.start.real_sshd import real_sshd
from tests.support.machines import machines
from tests.support.waiting import until_now
from tests.whole.daemons import daemon, governor

pytestmark = pytest.mark.whole

SIZE = 3_000_000


def reversed_bytes(data: bytes) -> bytes:
    return data[::-1]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_one_forwarded_port_is_enough_for_a_client_and_the_dashboard(tmp_path: Path) -> None:
    make_secret_file(tmp_path / "secret")
    secret = ("--secret-file", str(tmp_path / "secret"))
    with ExitStack() as stack:
        # given: a cluster on the loopback of a login node, of which only sshd can be reached
        _, (login,) = stack.enter_context(machines(1))
        settings = stack.enter_context(real_sshd(tmp_path / "ssh", login.address, login.command))
        own = ("server", "--listen", "127.0.0.1:0", *secret)
        server = stack.enter_context(daemon(tmp_path, "server", *own, on=login.command))
        words = ("--no-share-store", *secret)
        stack.enter_context(
            governor(tmp_path, "governor", server.address, 1, *words, on=login.command)
        )
        (port,) = free_ports(1)
        forward = f"127.0.0.1:{port}:127.0.0.1:{server.port}"
        tunnel = stack.enter_context(
            subprocess.Popen(["ssh", "-F", str(settings), "-N", "-L", forward, "login"])
        )
        stack.callback(tunnel.terminate)
        until_now(partial(listens, port))
        # when a client knows nothing but the forwarded port
        client = stack.enter_context(Client("127.0.0.1", port, secret_file=tmp_path / "secret"))
        data = bytes(range(256)) * (SIZE // 256)
        future = client.submit(reversed_bytes, data)
        # then it puts data and fetches results, which come through the server
        assert future.result() == data[::-1]
        # and the dashboard is at the same port
        url = urlsplit(client.dashboard_url)
        assert url.port == port
        asked = Request(f"http://{url.hostname}:{url.port}/status")
        asked.add_header("authorization", f"Bearer {url.password}")
        with urlopen(asked, timeout=60) as answer:
            assert json.load(answer)["governors"]
