"""A second machine behind a link of limited speed: a network namespace with `tc ... tbf`.

Only root may make one. It shapes what is sent from there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import frozen


@frozen
class ShapedMachine:
    """The second machine. Processes and files it shares with this one."""

    namespace: str
    address: str
    device: str  # our end of the link

    @property
    def command(self) -> tuple[str, ...]:
        """What starts a program there."""
        return ("nsenter", f"--net=/run/netns/{self.namespace}")

    def sent(self) -> int:
        """How many bytes have come from it, headers of packets included."""
        return int(Path(f"/sys/class/net/{self.device}/statistics/rx_bytes").read_text())


@contextmanager
def shaped_machine(rate: str) -> Generator[ShapedMachine]:
    """Makes it; it sends no more than `rate`, such as 100mbit, or anything if that is empty.

    OSError if this user may not.
    """
    number = os.getpid() % 16_384  # several programs may have one
    name, device = f"rain-shaped-{number}", f"rn{number}"
    base, last = f"198.17.{number // 64}", number % 64 * 4
    here, there = f"{base}.{last + 1}", f"{base}.{last + 2}"
    _run(f"ip netns add {name}")
    try:
        _run(f"ip link add {device} type veth peer name eth0 netns {name}")
        _run(f"ip addr add {here}/30 dev {device}")
        _run(f"ip link set {device} up")
        _run(f"ip -n {name} addr add {there}/30 dev eth0")
        _run(f"ip -n {name} link set eth0 up")
        if rate:
            shape = f"qdisc add dev eth0 root tbf rate {rate} burst 64kb latency 50ms"
            _run(f"ip netns exec {name} tc {shape}")
        yield ShapedMachine(name, there, device)
    finally:
        for words in (f"ip link del {device}", f"ip netns del {name}"):
            with suppress(OSError):
                _run(words)


def _run(words: str) -> None:
    done = subprocess.run(words.split(), check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(None, f"{words}: {done.stderr.strip()}")
