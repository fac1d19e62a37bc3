"""Makes the name of this server for a lease."""

from __future__ import annotations

import secrets
import socket

from rain.server.lease.rules import LeaseHolder
from rain.stream.machine import machine_id
from rain.stream.protocol import NOBODY


def this_server(address: str) -> LeaseHolder:
    """This start of this server, which peers find at the address."""
    return LeaseHolder(secrets.token_hex(8), address, socket.gethostname(), this_boot())


def this_boot() -> str:
    """The boot of this machine; "" where the system does not tell."""
    boot = machine_id()
    return "" if boot == NOBODY else boot.hex()
