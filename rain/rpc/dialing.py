"""Connecting to an address and being let in there: with trio, and in a thread that may block."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import trio

from rain.base.address import spell_address
from rain.base.admission import NoRoomError, NotAdmittedError, Role, Secret
from rain.base.errors import ProtocolError, StartError
from rain.rpc.handshake import introduce
from rain.rpc.link import prepare
from rain.stream.admission import introduce as introduce_in_thread
from rain.stream.errors import UnreachableError
from rain.stream.sockets import BrokenError, StalledError, limit_waiting


class NotLetInError(UnreachableError):
    """The other side does not let us in, or we do not trust it; the reason."""


@contextmanager
def reaching(where: str, who: str) -> Generator[None]:
    """Around the dialling of a server: `StartError` says in one line why it does not work."""
    try:
        yield
    except NotLetInError as error:
        raise StartError(
            f"the server at {where} and this {who} do not trust each other: {error}; a cluster"
            " that Client() has started admits nobody else: 'rain start' makes one for several"
        ) from None
    except UnreachableError as error:
        raise StartError(f"cannot reach the server at {error}") from None
    except ProtocolError as error:
        raise StartError(f"what listens at {where} is not a Rain server: {error}") from None


async def dial(
    host: str, port: int, timeout: float, role: Role, secret: Secret | None = None
) -> socket.socket:
    """A socket that is let in at an address; it does not block.

    `UnreachableError` says where and why that did not work, `ProtocolError` that something else
    than one of us listens there.
    """
    with _spelled(spell_address(host, port), timeout, secret):
        with trio.fail_after(timeout):
            connected = await _connect(host, port)
            try:
                await introduce(connected, secret, role)
                prepare(connected)
            except BaseException:
                connected.close()
                raise
            return connected


def dial_in_thread(
    host: str, port: int, timeout: float, role: Role, secret: Secret | None = None
) -> socket.socket:
    """The same for a thread, which waits; the socket does not block afterwards."""
    with _spelled(spell_address(host, port), timeout, secret):
        due = time.monotonic() + timeout
        connected = _connect_in_thread(host, port, timeout)
        try:
            connected.setblocking(True)
            limit_waiting(connected, max(due - time.monotonic(), 0.001))
            introduce_in_thread(connected, secret, role)
            prepare(connected)
        except BaseException:
            connected.close()
            raise
        return connected


_ANOTHER_PORT = "; is that the port of a server of Rain?"


@contextmanager
def _spelled(where: str, timeout: float, secret: Secret | None) -> Generator[None]:
    """Says in one way what went wrong."""
    try:
        yield
    except (trio.TooSlowError, TimeoutError, StalledError):
        raise UnreachableError(
            f"{where}: no answer within {timeout:g} seconds{_ANOTHER_PORT}"
        ) from None
    except NotAdmittedError as error:
        raise NotLetInError(f"{error}{_advice(secret)}") from None
    except NoRoomError as error:
        raise UnreachableError(f"{where}: {error}") from None
    except BrokenError as error:
        raise UnreachableError(f"{where}: {error}{_ANOTHER_PORT}") from None
    except ConnectionResetError as error:
        raise UnreachableError(f"{where}: {error.strerror}{_ANOTHER_PORT}") from None
    except OSError as error:
        raise UnreachableError(f"{where}: {error.strerror or error}") from None


def _advice(secret: Secret | None) -> str:
    """What to do when the key of the user, which nobody has named, is not the right one."""
    if secret is None or not secret.of_user:
        return ""
    return (
        " (the key of this user was tried: if the server is another user's, ask its owner to start"
        " it with --secret-file and to give you that file; name it with --secret-file,"
        " RAIN_SECRET_FILE or secret_file; say --insecure or insecure=True if it was started so)"
    )


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
    raise UnreachableError(_refused(where, reasons))


async def _connect_to(attempt: socket.socket, address: Any) -> None:
    found = attempt.connect_ex(address)
    if found == errno.EINPROGRESS:
        await trio.lowlevel.wait_writable(attempt)
        found = attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if found:
        raise OSError(found, os.strerror(found))


def _connect_in_thread(host: str, port: int, timeout: float) -> socket.socket:
    where = spell_address(host, port)
    reasons: list[str] = []
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        attempt = socket.socket(family, kind, protocol)
        attempt.settimeout(timeout)
        try:
            attempt.connect(address)
        except TimeoutError:
            attempt.close()
            raise
        except OSError as error:
            attempt.close()
            reasons.append(os.strerror(error.errno) if error.errno else str(error))
        except BaseException:
            attempt.close()
            raise
        else:
            return attempt
    raise UnreachableError(_refused(where, reasons))


def _refused(where: str, reasons: list[str]) -> str:
    refused = os.strerror(errno.ECONNREFUSED)
    hint = "; is the server running?" if refused in reasons else ""
    return f"{where}: {', '.join(dict.fromkeys(reasons))}{hint}"


async def _resolve(host: str, port: int) -> list[Any]:
    """The addresses of a host; a thread asks for them only if the host is a name."""
    stream = socket.SOCK_STREAM
    try:
        return [*socket.getaddrinfo(host, port, type=stream, flags=socket.AI_NUMERICHOST)]
    except socket.gaierror:
        return [*await trio.socket.getaddrinfo(host, port, type=stream)]
