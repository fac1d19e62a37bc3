"""A process that becomes several daemons: it imports everything that they need, then forks.

The program that starts the daemons (`rain.daemon.template`) sends an order for each on a socket,
with the descriptors for that daemon. The process forks for each order and ends at the end of the
socket. It must have no thread, no loop and no open connection before: a copy must behave like a
separate process that was started with that command line.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from attrs import asdict, frozen

LONGEST = 128 * 1024
MOST_DESCRIPTORS = 16


@frozen
class CopyOrder:
    """An order for one copy: its arguments and its process settings."""

    number: int
    name: str
    arguments: tuple[str, ...]
    new_session: bool  # else only its own process group
    options: tuple[str, ...] = ()  # the value of each is the number of one more descriptor


def spell_order(order: CopyOrder) -> bytes:
    return json.dumps(asdict(order)).encode()


def parse_order(text: bytes) -> CopyOrder:
    fields = json.loads(text)
    return CopyOrder(
        fields["number"],
        fields["name"],
        tuple(fields["arguments"]),
        fields["new_session"],
        tuple(fields["options"]),
    )


def spell_birth(number: int, pid: int) -> bytes:
    return f"{number} {pid}".encode()


def parse_birth(text: bytes) -> tuple[int, int]:
    number, pid = text.split()
    return int(number), int(pid)


def become(orders: socket.socket) -> list[str] | None:
    """Returns in each copy with its arguments, and finally in this process with None."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(orders, LONGEST, MOST_DESCRIPTORS)
        if not text:
            return None
        if not os.fork():
            return _begin(orders, parse_order(text), descriptors)
        _close(descriptors)


def _begin(orders: socket.socket, order: CopyOrder, descriptors: list[int]) -> list[str]:
    """Makes a copy an independent process."""
    if order.new_session:
        os.setsid()
    else:
        os.setpgid(0, 0)
    output, errors, release, *others = descriptors
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(descriptor, standard)
    _close((nothing, output, errors))
    _show(order.name)
    orders.send(spell_birth(order.number, os.getpid()))
    orders.close()
    # A copy waits until its pid is known, so that its parent can always end it.
    if not os.read(release, 1):
        sys.exit(f"{order.name} was not wanted any more")
    os.close(release)
    named = zip(order.options, others, strict=False)
    given = [word for option, descriptor in named for word in (option, str(descriptor))]
    return [*order.arguments, *given]


def _show(name: str) -> None:
    """Sets the name that `top` and `ps -e` show, because all copies share one command line."""
    if sys.platform == "linux":
        Path("/proc/self/comm").write_text(name, encoding="utf-8")


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
