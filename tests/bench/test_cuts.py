"""Cuts of the network that the soak makes: which side becomes deaf, and that they heal."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from click.testing import CliRunner

from bench.machines import Machine
from bench.soak import command
from bench.soak.cuts import MANNERS, WAYS, Cut, Network
from tests.support.machines import machines

SERVER, CLIENTS = Machine("s", "10.0.0.1"), Machine("c", "10.0.0.2")
GOVERNORS = [Machine("a", "10.0.0.3"), Machine("b", "10.0.0.4")]
LINKS = {"server-governor", "governor-governor", "client-server"}

CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 7), timeout=1.5)
except OSError as error:
    print(type(error).__name__)
"""


def drawn(governors: list[Machine]) -> list[Cut]:
    network, random = Network(SERVER, CLIENTS, governors), Random(1)
    return [network.drawn(random) for _ in range(200)]


def test_all_links_are_cut_in_all_manners_and_ways() -> None:
    found = {(cut.link, cut.manner, cut.way) for cut in drawn(GOVERNORS)}
    assert found == {(link, manner, way) for link in LINKS for manner in MANNERS for way in WAYS}
    assert all(cut.ends[0] != cut.ends[1] for cut in drawn(GOVERNORS))


def test_one_way_either_end_becomes_deaf() -> None:
    cuts = [cut for cut in drawn(GOVERNORS) if cut.link == "client-server"]
    assert {cut.ends for cut in cuts} == {(SERVER, CLIENTS), (CLIENTS, SERVER)}


def test_governors_on_one_machine_are_not_cut_from_each_other() -> None:
    assert {cut.link for cut in drawn([GOVERNORS[0]] * 2)} == LINKS - {"governor-governor"}


def test_a_soak_without_networks_says_so_and_an_unknown_fault_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(count: int) -> None:
        raise OSError(None, "ip link add: Operation not permitted")

    monkeypatch.setattr(command, "machines", refused)
    result = CliRunner().invoke(command.command, ["--faults", "network"])
    assert result.output.startswith("no link is cut: this user may not make networks (ip link add")
    result = CliRunner().invoke(command.command, ["--faults", "server,meteor"])
    assert "'meteor' is no fault; there are server, governor, executor, cl" in result.output


def tries(machine: Machine, address: str) -> str:
    """What becomes of a connection to a port that nobody listens at."""
    words = [*machine.command, sys.executable, "-c", CONNECT, address]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.whole
def test_a_cut_in_one_way_is_felt_at_one_end_until_it_heals() -> None:
    with machines(2) as (_, (one, other)):
        network = Network(one, other, [])
        network.cut(Cut("client-server", (one, other), "dropped", "one way"), until=1.0)
        network.heal(0.5)
        assert tries(other, one.address) == "TimeoutError"
        assert one.lost_of(other.address)
        assert not other.lost_of(one.address)
        network.heal(1.0)
        assert tries(other, one.address) == tries(one, other.address) == "ConnectionRefusedError"
        assert not network.cuts
