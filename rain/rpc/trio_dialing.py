"""Connects to an address and passes the admission there, in a trio program."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

import trio

from rain.base.address import spell_address
from rain.base.admission import Role
from rain.rpc.dialing import refused, spelled
from rain.rpc.handshake import dial_tls, introduce
from rain.rpc.sockets import prepare
from rain.stream.errors import UnreachableError
from rain.stream.sockets import Connected
from rain.tls.keys import NO_KEYS, Keys


async def dial(
    host: str,
    port: int,
    timeout: float,
    role: Role,
    keys: Keys = NO_KEYS,
) -> Connected:
    """A socket that is let in at an address, as `rain.rpc.dialing.dial_in_thread` gives one."""
    with spelled(spell_address(host, port), timeout, keys.secret):
        with trio.move_on_after(timeout):
            bare = await _connect(host, port)
            try:
                prepare(bare)
                connected = await dial_tls(bare, keys.identity)
                await introduce(connected, keys.secret, role)
            except BaseException:
                bare.close()
                raise
            return connected
        raise TimeoutError


async def _connect(host: str, port: int) -> socket.socket:
    """A socket that is connected to the first address of a host that takes it."""
    where = spell_address(host, port)
    reasons: list[str] = []
    for family, kind, protocol, _, address in await _resolve(host, port):
        attempt = socket.socket(family, kind, protocol)
        try:
            attempt.setblocking(False)
            await _connect_to(attempt, address)
        except OSError as error:
            attempt.close()
            reasons.append(os.strerror(error.errno) if error.errno else str(error))
        except BaseException:
            attempt.close()
            raise
        else:
            return attempt
    raise UnreachableError(refused(where, reasons))


async def _connect_to(attempt: socket.socket, address: Any) -> None:
    found = attempt.connect_ex(address)
    if found == errno.EINPROGRESS:
        await trio.lowlevel.wait_writable(attempt)
        found = attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if found:
        raise OSError(found, os.strerror(found))


async def _resolve(host: str, port: int) -> list[Any]:
    """The addresses of a host; a thread asks for them only if the host is a name."""
    stream = socket.SOCK_STREAM
    try:
        return [*socket.getaddrinfo(host, port, type=stream, flags=socket.AI_NUMERICHOST)]
    except socket.gaierror:
        return [*await trio.socket.getaddrinfo(host, port, type=stream)]
