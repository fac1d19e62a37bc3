"""The port of a standby server: it turns peers away, so that they try the server that leads.

The port is opened when the standby starts. So an address that cannot be used is reported at once,
and peers that try it get an answer at once.
"""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from rain.rpc.handshake import accept_tls, linger, turn_away
from rain.rpc.port import Port
from rain.rpc.sockets import peer_host, prepare
from rain.tls.errors import TlsError

if TYPE_CHECKING:
    from rain.tls.identity import Identity

LIMIT = 10.0
"""Seconds that a peer has to send something, and to read the answer."""

MOST = 1024
"""Peers that are told so at once; more than these are closed."""

REASON = "this is a standby, and another server leads the cluster"

log = logging.getLogger(__name__)


def stand_by(nursery: trio.Nursery, host: str, port: int, identity: Identity | None) -> Port:
    """Opens the port; `StartError` if that cannot be done. It runs until it is closed."""
    turning_away = 0

    async def refuse(accepted: socket.socket) -> None:
        nonlocal turning_away
        turning_away += 1
        try:
            with accepted, suppress(OSError, trio.TooSlowError), trio.fail_after(LIMIT):
                accepted.setblocking(False)
                prepare(accepted)
                try:
                    connected = await accept_tls(accepted, identity, certificate_optional=True)
                except TlsError as error:
                    came_from = peer_host(accepted)
                    log.warning("a peer from %s was not admitted: %s", came_from, error.strerror)
                    await linger(accepted)
                else:
                    await turn_away(connected, REASON, LIMIT, stands_by=True)
        finally:
            turning_away -= 1

    def take(accepted: socket.socket) -> None:
        if turning_away < MOST:
            nursery.start_soon(refuse, accepted)
        else:
            accepted.close()

    opened = Port(host, port, take)
    nursery.start_soon(opened.run)
    return opened
