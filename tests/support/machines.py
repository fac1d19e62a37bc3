"""Several machines for tests: network namespaces on one bridge, with firewalls between them.

They have addresses, ports and loopbacks of their own; processes and files they share. This machine
has an address on the bridge, too. Only root may make them, and not in every container.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import frozen


@frozen
class Machine:
    """One of them."""

    name: str
    address: str

    @property
    def command(self) -> tuple[str, ...]:
        """What starts a program there."""
        return ("nsenter", f"--net=/run/netns/{self.name}")

    def takes_no_connections(self) -> None:
        """From now on it connects out only, as behind a NAT. Connections that are there stay."""
        self._firewall("-A", "INPUT", *_NEW)

    def takes_connections(self) -> None:
        """The same ends."""
        self._firewall("-D", "INPUT", *_NEW)

    def loses_what_comes_from(self, address: str) -> None:
        """Nothing of this address arrives here any more, and nobody is told."""
        self._firewall("-A", "INPUT", "-s", address, "-j", "DROP")

    def hears(self, address: str) -> None:
        """The same ends."""
        self._firewall("-D", "INPUT", "-s", address, "-j", "DROP")

    def lost_of(self, address: str) -> int:
        """How many packets of this address were lost here since that began."""
        words = (*self.command, "iptables", "-w", "-nvxL", "INPUT")
        told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        lines = [line.split() for line in told.splitlines() if " DROP " in line]
        return sum(int(line[0]) for line in lines if address in line)

    def sends_slowly(self, rate: str) -> None:
        """From now on it sends no more than this, as 100mbit."""
        words = f"qdisc add dev eth0 root tbf rate {rate} burst 64kb latency 50ms"
        subprocess.run([*self.command, "tc", *words.split()], check=True)

    def received(self) -> int:
        """How many bytes have come to it, headers included."""
        link = self.name.replace("rain-", "rain", 1)
        return int(Path(f"/sys/class/net/{link}/statistics/tx_bytes").read_text("ascii"))

    def _firewall(self, *rule: str) -> None:
        words = (*self.command, "iptables", "-w", *rule)
        subprocess.run(words, check=True)


_NEW = ("-p", "tcp", "--syn", "!", "-i", "lo", "-j", "REJECT", "--reject-with", "tcp-reset")


@contextmanager
def machines(count: int) -> Generator[tuple[str, list[Machine]], None, None]:
    """Our address on the bridge, and the machines; skips the test where that is not allowed."""
    number = os.getpid() % 8_192  # two runs of the tests have two bridges
    base, first = f"198.19.{number // 32}", number % 32 * 8
    assert count <= 5, "a bridge has five addresses for machines"
    here, bridge = f"{base}.{first + 1}", f"rain{number}"
    if not (shutil.which("ip") and shutil.which("iptables")) or _ip(
        f"link add {bridge} type bridge"
    ):
        pytest.skip("this user may not make networks")
    made: list[Machine] = []
    try:
        for words in (f"addr add {here}/29 dev {bridge}", f"link set {bridge} up"):
            assert _ip(words) == 0, words
        for place in range(count):
            made.append(Machine(f"rain-{number}-{place}", f"{base}.{first + 2 + place}"))
            _add(made[-1], bridge, f"rain{number}-{place}")
        yield here, made
    finally:
        for place, machine in enumerate(made):
            _ip(f"link del rain{number}-{place}")  # the namespace would remove it some time later
            _ip(f"netns del {machine.name}")
        _ip(f"link del {bridge}")


def _add(machine: Machine, bridge: str, link: str) -> None:
    for words in (
        f"netns add {machine.name}",
        f"link add {link} type veth peer name eth0 netns {machine.name}",
        f"link set {link} master {bridge} up",
        f"-n {machine.name} addr add {machine.address}/29 dev eth0",
        f"-n {machine.name} link set eth0 up",
        f"-n {machine.name} link set lo up",
    ):
        assert _ip(words) == 0, words


def _ip(words: str) -> int:
    return subprocess.run(["ip", *words.split()], check=False).returncode
