"""Ways that are cut in one direction only: who hears nothing gives the other side up."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from rain.client import Client
from rain.common.secret_file import make_secret_file
from tests.support.machines import machines
from tests.whole.daemons import Daemon, daemon, governor

pytestmark = pytest.mark.whole


def work(number: int) -> int:
    time.sleep(0.2)
    return number


@pytest.mark.parametrize("deaf", ["server", "governor"])
def test_what_a_governor_was_told_runs_elsewhere_when_one_side_hears_nothing(
    tmp_path: Path, deaf: str
) -> None:
    make_secret_file(tmp_path / "secret")
    secret = ("--secret-file", str(tmp_path / "secret"))
    with ExitStack() as stack:
        # given: a server and two governors, each on a machine of its own
        _, (first, second, third) = stack.enter_context(machines(3))
        own = ("--listen", f"{first.address}:0", "--no-http", "--governor-timeout", "5", *secret)
        server = stack.enter_context(daemon(tmp_path, "server", "server", *own, on=first.command))
        governors: dict[str, Daemon] = {}
        for name, machine in (("cut", second), ("other", third)):
            here = f"{machine.address}:0"
            words = ("--listen", here, "--no-share-store", "--server-timeout", "6", *secret)
            started = governor(tmp_path, name, server.address, 1, *words, on=machine.command)
            governors[name] = stack.enter_context(started)
        client = stack.enter_context(
            Client(first.address, server.port, secret_file=tmp_path / "secret")
        )
        futures = client.map(work, range(40))
        assert futures[0].result() == 0
        # when one way between the server and one of the governors loses everything
        if deaf == "server":
            first.loses_what_comes_from(second.address)
        else:
            second.loses_what_comes_from(first.address)
        # then the other governor does all of the work, and the one that was cut has ended
        assert client.gather(futures) == list(range(40))
        governors["cut"].process.wait(60)
        (left,) = client.get_server_info()["governors"]
        assert left["governor_id"] == governors["other"].address
