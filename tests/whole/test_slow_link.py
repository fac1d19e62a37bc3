"""A governor behind a long link with loss, which data fills up: nobody takes it for lost."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.slow_link import second_site
from rain.client import Client
from rain.common.secret_file import make_secret_file
from tests.whole.daemons import daemon, governor

pytestmark = pytest.mark.whole

LIMIT = 6
"""Seconds for which a governor may be silent: the link is full for twice as long."""


def turned(data: bytes) -> bytes:
    return data[::-1]


def test_heartbeats_pass_a_link_that_is_full_and_loses_packets(tmp_path: Path) -> None:
    make_secret_file(tmp_path / "secret")
    secret = ("--secret-file", str(tmp_path / "secret"))
    with ExitStack() as stack:
        try:
            site = stack.enter_context(second_site(delay=0.04, loss=0.01))
        except OSError as error:
            pytest.skip(f"this user may not make networks: {error}")
        listen = ("--listen", f"{site.here}:0", "--no-http", "--journal", "none")
        limits = ("--governor-timeout", str(LIMIT))
        server = stack.enter_context(
            daemon(tmp_path, "server", "server", *listen, *limits, *secret)
        )
        own = ("--listen", f"{site.there}:0", "--no-share-store", "--server-timeout", str(LIMIT))
        there = stack.enter_context(
            governor(tmp_path, "far", server.address, 2, *own, *secret, on=site.command)
        )
        client = stack.enter_context(
            Client(site.here, server.port, secret_file=tmp_path / "secret")
        )
        # Data goes both ways, without a pause.
        ends = time.monotonic() + 2 * LIMIT
        while time.monotonic() < ends:
            given = [os.urandom(1_000_000) for _ in range(4)]
            futures = [client.submit(turned, data) for data in given]
            assert client.gather(futures) == [data[::-1] for data in given]
        (left,) = client.get_server_info()["governors"]
        assert left["governor_id"] == there.address
        assert there.process.poll() is None
    assert "dismissed" not in server.errors.read_text()
    assert "the server is away" not in there.errors.read_text()
