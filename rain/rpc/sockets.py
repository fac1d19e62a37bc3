"""Sets the options of the sockets of connections, and finds the host at the other end."""

from __future__ import annotations

import socket

from rain.base.address import plain_host

KEEPALIVE = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 6,
    "TCP_USER_TIMEOUT": 90_000,  # milliseconds; the default is many minutes
}
"""The kernel notices a host that has vanished after 90 seconds, whether something was said or not.

A side that listens notices it before (`Link.expect`).
"""


def prepare(connected: socket.socket) -> None:
    """Sets the options of a socket that carries a connection."""
    connected.setblocking(False)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):  # their names differ from system to system
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def peer_host(connected: socket.socket) -> str:
    """The host at the other end of a socket; OSError when it has gone already."""
    return plain_host(connected.getpeername()[0])
