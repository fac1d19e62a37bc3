"""A second machine behind a link of limited speed: a network namespace with `tc ... tbf`.

Only root may make one. It shapes what is sent from there.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from attrs import frozen

from bench.namespaces import LINKS, entering, ip, link_name, namespace_name, remove_abandoned


@frozen
class ShapedMachine:
    """The second machine. Processes and files it shares with this one."""

    namespace: str
    address: str
    device: str  # our end of the link

    @property
    def command(self) -> tuple[str, ...]:
        """What starts a program there."""
        return entering(self.namespace)

    def sent(self) -> int:
        """How many bytes have come from it, headers of packets included."""
        return int((LINKS / self.device / "statistics" / "rx_bytes").read_text())


@contextmanager
def shaped_machine(rate: str) -> Generator[ShapedMachine]:
    """Makes it; it sends no more than `rate`, such as 100mbit, or anything if that is empty.

    OSError if this user may not.
    """
    number = os.getpid() % 16_384  # several programs may have one
    name, device = namespace_name("shaped"), link_name("shape")
    base, last = f"198.17.{number // 64}", number % 64 * 4
    here, there = f"{base}.{last + 1}", f"{base}.{last + 2}"
    remove_abandoned()
    ip(f"netns add {name}")
    try:
        ip(f"link add {device} type veth peer name eth0 netns {name}")
        ip(f"addr add {here}/30 dev {device}")
        ip(f"link set {device} up")
        ip(f"-n {name} addr add {there}/30 dev eth0")
        ip(f"-n {name} link set eth0 up")
        if rate:
            shape = f"qdisc add dev eth0 root tbf rate {rate} burst 64kb latency 50ms"
            ip(f"netns exec {name} tc {shape}")
        yield ShapedMachine(name, there, device)
    finally:
        for words in (f"link del {device}", f"netns del {name}"):
            with suppress(OSError):
                ip(words)
