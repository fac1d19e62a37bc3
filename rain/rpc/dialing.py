"""Connects to an address and passes the admission there, in a thread that may block.

`trio_dialing.py` does the same for a daemon. Clients do not use trio, because it takes long to
load.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from rain.base.address import spell_address
from rain.base.admission import (
    MemberKind,
    NeedsTlsError,
    NotAcceptingError,
    NotAdmittedError,
    Role,
    Secret,
    StandsByError,
)
from rain.base.errors import ProtocolError, RainError, StartError
from rain.base.leading import Servers
from rain.rpc.sockets import prepare
from rain.stream.admission import dial_tls, introduce
from rain.stream.errors import UnreachableError
from rain.stream.sockets import BrokenError, Connected, StalledError, limit_waiting
from rain.tls.errors import NotTlsError, TlsError
from rain.tls.keys import NO_KEYS, Keys


class NotLetInError(UnreachableError):
    """The other side does not admit us, or we do not trust it. The text is the reason."""


class NotTrustedError(NotLetInError):
    """A certificate of one side does not convince the other. The text is the reason."""


class StandsByHereError(UnreachableError):
    """Another server leads the cluster, or this one is about to."""


class NotLeadingError(StartError):
    """No server leads the cluster now, but there is a standby, which may do so soon."""


def dial_in_turn(servers: Servers, dial: Callable[[], Connected]) -> Connected:
    """Dials the current address, and then the ones after it, until one works; returns the
    result.
    """
    troubles: list[RainError] = []
    for _ in servers.addresses:
        try:
            return dial()
        except NotLetInError:
            raise
        except (UnreachableError, ProtocolError) as error:
            troubles.append(error)
            servers.try_next()
    raise of_all(troubles)


def of_all(troubles: Sequence[RainError]) -> RainError:
    """One error for those that several servers have given."""
    if len(troubles) == 1:
        return troubles[0]
    stands_by = any(isinstance(one, StandsByHereError) for one in troubles)
    text = "; ".join(str(one) for one in troubles)
    return StandsByHereError(text) if stands_by else UnreachableError(text)


@contextmanager
def reaching(where: str, who: str) -> Generator[None]:
    """Around the dialling of a server: `StartError` says in one line why it does not work."""
    try:
        yield
    except NotTrustedError as error:
        raise StartError(
            f"the server at {where} and this {who} do not trust each other: {error}"
        ) from None
    except NotLetInError as error:
        raise StartError(
            f"the server at {where} and this {who} do not trust each other: {error}; a cluster"
            " that Client() has started admits nobody else: 'rain start' makes one for several"
        ) from None
    except StandsByHereError as error:
        raise NotLeadingError(f"cannot reach the server at {error}") from None
    except UnreachableError as error:
        raise StartError(f"cannot reach the server at {error}") from None
    except ProtocolError as error:
        raise StartError(f"what listens at {where} is not a Rain server: {error}") from None


def dial_in_thread(
    host: str,
    port: int,
    timeout: float,
    role: Role,
    keys: Keys = NO_KEYS,
) -> Connected:
    """A connection that is let in at an address; it does not block afterwards.

    `UnreachableError` says where and why that did not work, `ProtocolError` that something else
    than one of us listens there.
    """
    with spelled(spell_address(host, port), timeout, keys.secret):
        due = time.monotonic() + timeout
        bare = _connect(host, port, timeout)
        try:
            bare.setblocking(True)
            left = max(due - time.monotonic(), 0.001)
            limit_waiting(bare, left)
            connected = dial_tls(bare, keys.identity, MemberKind.SERVER, left)
            introduce(connected, keys.secret, role)
            prepare(bare)
        except BaseException:
            bare.close()
            raise
        return connected


_ANOTHER_PORT = "; is that the port of a server of Rain?"


@contextmanager
def spelled(where: str, timeout: float, secret: Secret | None) -> Generator[None]:
    """Turns the different errors into one kind of message."""
    try:
        yield
    except (TimeoutError, StalledError):
        raise UnreachableError(
            f"{where}: no answer within {timeout:g} seconds{_ANOTHER_PORT}"
        ) from None
    except NeedsTlsError as error:
        raise UnreachableError(f"{where}: {error}") from None
    except NotAdmittedError as error:
        raise NotLetInError(f"{error}{_advice(secret)}") from None
    except StandsByError as error:
        raise StandsByHereError(f"{where}: {error}") from None
    except NotAcceptingError as error:
        raise UnreachableError(f"{where}: {error}") from None
    except NotTlsError as error:  # or it has died in the middle
        raise UnreachableError(f"{where}: {error.strerror}") from None
    except TlsError as error:
        raise NotTrustedError(f"{error.strerror}") from None
    except BrokenError as error:
        raise UnreachableError(f"{where}: {error}{_ANOTHER_PORT}") from None
    except ConnectionResetError as error:
        raise UnreachableError(f"{where}: {error.strerror}{_ANOTHER_PORT}") from None
    except OSError as error:
        raise UnreachableError(f"{where}: {error.strerror or error}") from None


def _advice(secret: Secret | None) -> str:
    """Advice for a peer that does not accept the key of the user, which is the default."""
    if secret is None or not secret.of_user:
        return ""
    return (
        " (the key of this user was tried: if the server is another user's, ask its owner to start"
        " it with --secret-file and to give you that file; name it with --secret-file,"
        " RAIN_SECRET_FILE or secret_file; use --insecure or insecure=True if it was started so)"
    )


def _connect(host: str, port: int, timeout: float) -> socket.socket:
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
    raise UnreachableError(refused(where, reasons))


def refused(where: str, reasons: list[str]) -> str:
    """The error when no address of a host accepts the connection."""
    refusal = os.strerror(errno.ECONNREFUSED)
    hint = "; is the server running?" if refusal in reasons else ""
    return f"{where}: {', '.join(dict.fromkeys(reasons))}{hint}"
