"""Governors that cannot connect to each other: their data comes through the server."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, remote
from rain.common.data_instance import DataInstance
from tests.support.machines import machines
from tests.support.tls import keys_of
from tests.whole.daemons import daemon, governor

pytestmark = pytest.mark.whole

SIZE = 3_000_000


def make(ctx: Any, first: int) -> bytes:
    return bytes([first]) * SIZE


def count(ctx: Any, data: DataInstance, first: int) -> bytes:
    return b"%d" % data.get_bytes().count(first)


MAKE = {name: remote(resources={name: 1})(make) for name in "ab"}
COUNT = {name: remote(resources={name: 1})(count) for name in "ab"}


def made_and_read(client: Client, maker: str, reader: str) -> None:
    """An object of one machine is read by a task on the other one, and by this program."""
    with client.new_session(f"{maker} to {reader}") as session:
        data = MAKE[maker](65)
        number = COUNT[reader](data, 65)
        session.keep_all()
        session.submit()
        session.wait_all()
        assert number.output.fetch().get_bytes() == b"%d" % SIZE
        assert data.output.fetch().get_bytes() == bytes([65]) * SIZE


def test_governors_that_reach_only_the_server_read_from_each_other(tmp_path: Path) -> None:
    tls = ("--tls", str(keys_of()))
    with ExitStack() as stack:
        # given: two machines that connect out, and take no connections
        here, (a, b) = stack.enter_context(machines(2))
        listen = ("--listen", f"{here}:0", "--no-http")
        server = stack.enter_context(daemon(tmp_path, "server", "server", *listen, *tls))
        addresses: dict[str, str] = {}
        for name, machine in (("a", a), ("b", b)):
            machine.takes_no_connections()
            own = ("--listen", f"{machine.address}:0", "--resource", f"{name}=1", *tls)
            started = governor(
                tmp_path, name, server.address, 1, "--no-share-store", *own, on=machine.command
            )
            addresses[name] = stack.enter_context(started).address
        client = stack.enter_context(Client(here, server.port, tls=keys_of()))

        def out_of_reach() -> dict[str, list[str]]:
            known = {address: name for name, address in addresses.items()}
            return {
                known[info["governor_id"]]: [known[other] for other in info["out_of_reach"]]
                for info in client.get_server_info()["governors"]
            }

        # then: data comes through the server, and it is shown
        made_and_read(client, "a", "b")
        assert out_of_reach() == {"a": [], "b": ["a"]}
        # and when a way is open that nobody has found closed, the server is not asked
        b.takes_connections()
        made_and_read(client, "b", "a")
        assert out_of_reach() == {"a": [], "b": ["a"]}
