"""Several machines on this one: network namespaces on one bridge, with firewalls between them.

They have addresses, ports and loopbacks of their own; processes and files they share. This machine
has an address on the bridge, too. Only root may make them, and not in every container.

Tests use them through `tests.support.machines`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress

from attrs import frozen

from bench.namespaces import LINKS, entering, ip, link_name, namespace_name, remove_abandoned

MOST_MACHINES = 5
"""The addresses of a bridge but ours."""

DROPPED = ("-j", "DROP")
"""What becomes of packets: nobody is told."""

RESET = ("-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")
"""The sender is told that there is no such connection, and closes it."""

LOSSY = ("-m", "statistic", "--mode", "random", "--probability", "0.3", *DROPPED)
"""Some are lost, and nobody is told."""


@frozen(order=True)
class Machine:
    """One of them. This machine, by its loopback, has no name and no firewall."""

    name: str
    address: str
    link: str = ""  # our end of what leads to it

    @property
    def command(self) -> tuple[str, ...]:
        """What starts a program there."""
        return entering(self.name) if self.name else ()

    def takes_no_connections(self) -> None:
        """From now on it connects out only, as behind a NAT. Connections that are there stay."""
        self._firewall("-A", "INPUT", *_NEW)

    def takes_connections(self) -> None:
        """The same ends."""
        self._firewall("-D", "INPUT", *_NEW)

    def loses_what_comes_from(self, address: str, how: tuple[str, ...] = DROPPED) -> None:
        """Packets of this address do not arrive here any more."""
        self._firewall("-A", "INPUT", "-s", address, *how)

    def hears(self, address: str, how: tuple[str, ...] = DROPPED) -> None:
        """The same ends."""
        self._firewall("-D", "INPUT", "-s", address, *how)

    def loses_what_goes_to(self, address: str, how: tuple[str, ...] = DROPPED) -> None:
        """Packets to this address do not leave."""
        self._firewall("-A", "OUTPUT", "-d", address, *how)

    def reaches(self, address: str, how: tuple[str, ...] = DROPPED) -> None:
        """The same ends."""
        self._firewall("-D", "OUTPUT", "-d", address, *how)

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
        return int((LINKS / self.link / "statistics" / "tx_bytes").read_text("ascii"))

    def _firewall(self, *rule: str) -> None:
        words = (*self.command, "iptables", "-w", *rule)
        subprocess.run(words, check=True)


_NEW = ("-p", "tcp", "--syn", "!", "-i", "lo", "-j", "REJECT", "--reject-with", "tcp-reset")

HERE = Machine("", "127.0.0.1")


@contextmanager
def machines(count: int) -> Generator[tuple[str, list[Machine]], None, None]:
    """Our address on the bridge, and the machines. OSError if this user may not make them."""
    number = os.getpid() % 8_192  # two programs have two bridges
    base, first = f"198.19.{number // 32}", number % 32 * 8
    assert count <= MOST_MACHINES
    here, bridge = f"{base}.{first + 1}", link_name("br")
    for program in ("ip", "iptables"):
        if not shutil.which(program):
            raise OSError(None, f"there is no program {program}")
    remove_abandoned()
    ip(f"link add {bridge} type bridge")
    made: list[Machine] = []
    try:
        ip(f"addr add {here}/29 dev {bridge}")
        ip(f"link set {bridge} up")
        for place in range(count):
            name, link = namespace_name(f"machine{place}"), link_name(str(place))
            made.append(Machine(name, f"{base}.{first + 2 + place}", link))
            _add(made[-1], bridge)
        yield here, made
    finally:
        links = [f"link del {machine.link}" for machine in made]
        # A namespace would remove its link, too, but some time later.
        names = [f"netns del {machine.name}" for machine in made]
        for words in (*links, *names, f"link del {bridge}"):
            with suppress(OSError):  # it was not made
                ip(words)


def _add(machine: Machine, bridge: str) -> None:
    for words in (
        f"netns add {machine.name}",
        f"link add {machine.link} type veth peer name eth0 netns {machine.name}",
        f"link set {machine.link} master {bridge} up",
        f"-n {machine.name} addr add {machine.address}/29 dev eth0",
        f"-n {machine.name} link set eth0 up",
        f"-n {machine.name} link set lo up",
    ):
        ip(words)
