"""A second site on this machine: a network namespace behind a link with delay and loss.

The link is a pair of TUN devices and a process that carries packets between them, because kernels
without `netem` have nothing else. Only root may make one. The process says "ready", and then does
what its stdin says: `delay SECONDS`, `loss SHARE`, `cut` and `heal`, one command for each line.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from heapq import heappop, heappush

from attrs import frozen

from bench.namespaces import FOLDER, entering, ip, link_name, namespace_name, remove_abandoned

_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001
_NEW_NETWORK = 0x40000000
_LONGEST = 65_536


@frozen
class Site:
    """The second site. Processes and files it shares with this one."""

    namespace: str
    here: str  # our address on the link
    there: str  # its address
    carrier: subprocess.Popen[bytes]

    @property
    def command(self) -> tuple[str, ...]:
        """What starts a program there."""
        return entering(self.namespace)

    def tell(self, words: str) -> None:
        """Changes the link; it holds from the next packet on."""
        assert self.carrier.stdin is not None
        self.carrier.stdin.write(f"{words}\n".encode())
        self.carrier.stdin.flush()


@contextmanager
def second_site(delay: float = 0.0, loss: float = 0.0) -> Generator[Site, None, None]:
    """Makes it, with `delay` seconds in each direction and a `loss` share of all packets.

    OSError if this user may not.
    """
    number = os.getpid() % 16_384  # several programs may have one
    name, near, far = namespace_name("site"), link_name("near"), link_name("far")
    base, last = f"198.18.{number // 64}", number % 64 * 4
    here, there = f"{base}.{last + 1}", f"{base}.{last + 2}"
    remove_abandoned()
    ip(f"netns add {name}")
    try:
        ip(f"tuntap add {near} mode tun")
        ip(f"-n {name} tuntap add {far} mode tun")
        with subprocess.Popen(
            [sys.executable, "-m", "bench.slow_link", name, near, far],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as carrier:
            try:
                assert carrier.stdout is not None
                if carrier.stdout.readline() != b"ready\n":
                    raise OSError(None, "the link between the sites does not begin")
                for device, address, peer, inside in (
                    (near, here, there, ""),
                    (far, there, here, f"-n {name} "),
                ):
                    ip(f"{inside}addr add {address} peer {peer} dev {device}")
                    ip(f"{inside}link set {device} up")
                ip(f"-n {name} link set lo up")
                site = Site(name, here, there, carrier)
                site.tell(f"delay {delay}")
                site.tell(f"loss {loss}")
                yield site
            finally:
                assert carrier.stdin is not None
                with suppress(BrokenPipeError):
                    carrier.stdin.close()
                carrier.wait()
    finally:
        for words in (f"link del {near}", f"netns del {name}"):
            with suppress(OSError):
                ip(words)


def _open_device(name: str) -> int:
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH14x", name.encode(), _TUN_WITHOUT_HEADER))
    return descriptor


def _enter(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(FOLDER / namespace, os.O_RDONLY)
    if libc.setns(descriptor, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(descriptor)


class Carrier:
    """Carries packets: each is lost by chance, or leaves after the delay, in their order."""

    def __init__(self, near: int, far: int) -> None:
        self._to = {near: far, far: near}
        self._delay = self._loss = 0.0
        self._is_cut = False
        self._due: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._chance = random.Random(1)

    def run(self) -> None:
        """Until stdin ends."""
        poll = select.poll()
        for descriptor in (0, *self._to):
            poll.register(descriptor, select.POLLIN)
        while True:
            wait = None
            if self._due:
                wait = max(self._due[0][0] - time.monotonic(), 0) * 1000
            for descriptor, _ in poll.poll(wait):
                if descriptor:
                    self._take(descriptor)
                elif not self._listen():
                    return
            self._send()

    def _listen(self) -> bool:
        said = os.read(0, 4096)
        for line in said.decode().splitlines():
            word, _, value = line.partition(" ")
            match word:
                case "delay":
                    self._delay = float(value)
                case "loss":
                    self._loss = float(value)
                case _:
                    self._is_cut = word == "cut"
        return bool(said)

    def _take(self, descriptor: int) -> None:
        with suppress(BlockingIOError):
            for _ in range(64):
                packet = os.read(descriptor, _LONGEST)
                if self._is_cut or self._chance.random() < self._loss:
                    continue
                self._count += 1
                due = time.monotonic() + self._delay
                heappush(self._due, (due, self._count, self._to[descriptor], packet))

    def _send(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, _, target, packet = heappop(self._due)
            with suppress(OSError):  # the device is down, or its queue is full: the packet is lost
                os.write(target, packet)


def main() -> None:
    """The process of a link."""
    namespace, near, far = sys.argv[1:]
    first = _open_device(near)
    _enter(namespace)
    second = _open_device(far)
    print("ready", flush=True)
    Carrier(first, second).run()


if __name__ == "__main__":
    main()
