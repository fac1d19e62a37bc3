"""The pump between plain bytes and TLS records: no socket, no clock, no thread.

Received bytes are fed in, and reading gives the decrypted ones. Written bytes are encrypted, and
`to_send` gives the records to send. One thread at a time may use it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from attrs import frozen

from rain.base.admission import MemberKind
from rain.tls.errors import TlsError
from rain.tls.explaining import explained

RECORD = 16 * 1024
"""The most plain bytes in one record."""

ROLE = "rain:"
"""How the names of members begin in their certificates, as in URI:rain:governor."""

USER = "rain-user:"
"""And how those of users do, as in URI:rain-user:ada."""


@frozen
class Who:
    """The member or user that a certificate names."""

    member: MemberKind
    name: str
    expires: float  # as time.time()
    user: str = ""  # of the cluster; "" is its owner
    hosts: tuple[str, ...] = ()  # the names of a server for browsers


class Pump:
    """One connection's encryption, on one of its two sides."""

    def __init__(
        self,
        context: ssl.SSLContext,
        *,
        accepts: bool,
        expects: frozenset[MemberKind] = frozenset(MemberKind),
        certificate_optional: bool = False,
    ) -> None:
        """Where a certificate is optional, `lacks_certificate` says that there was none."""
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=accepts)
        self._expects = expects
        self.certificate_optional = certificate_optional
        self.lacks_certificate = False  # the other side has no certificate
        self._who: Who | None = None
        self.has_ended = False  # the other side says nothing more

    @property
    def who(self) -> Who:
        """The other side, after the handshake."""
        if self._who is None:
            raise TlsError("it has not identified itself")
        return self._who

    def shake_hands(self) -> bool:
        """Goes on with the handshake; returns whether it is done. `TlsError` if it fails.

        Whatever it is, `to_send` has something for the other side.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise explained(error) from None
        certificate = self._tls.getpeercert()
        if not certificate and self.certificate_optional:
            self.lacks_certificate = True
            return True
        self._who = read_who(certificate or {})
        if self._who.member not in self._expects:
            wanted = " or ".join(sorted(member.value for member in self._expects))
            raise TlsError(
                f"its certificate is that of a {self._who.member.value}, and a {wanted} is"
                " expected there"
            )
        return True

    def feed(self, data: bytes | memoryview) -> None:
        """Takes what has come from the socket."""
        self._incoming.write(data)

    @property
    def holds(self) -> bool:
        """Whether something that was fed may not have been read yet."""
        return self._incoming.pending > 0 or self._tls.pending() > 0

    def read(self, most: int = RECORD) -> bytes:
        """Decrypted bytes; none if no record is complete."""
        try:
            data: bytes = self._tls.read(most)
        except ssl.SSLWantReadError:
            return b""
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self.has_ended = True
            return b""
        except ssl.SSLError as error:
            raise explained(error) from None
        return data

    def read_into(self, target: memoryview) -> int:
        """Decrypts into this memory; returns the number of bytes."""
        done = 0
        try:
            while done < len(target) and self.holds:
                left = min(len(target) - done, RECORD)
                done += self._read_one(left, target[done : done + left])
        except ssl.SSLWantReadError:
            return done
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self.has_ended = True
        except ssl.SSLError as error:
            raise explained(error) from None
        return done

    def _read_one(self, most: int, target: memoryview) -> int:
        return cast("int", self._tls.read(most, target))  # how many, with a buffer

    def write(self, data: bytes | memoryview) -> None:
        """Encrypts all of the data."""
        view = memoryview(data)
        done = 0
        try:
            while done < len(view):
                done += self._tls.write(view[done:])
        except ssl.SSLError as error:
            raise explained(error) from None

    def end(self) -> None:
        """Ends the stream of this side (close_notify), as HTTP clients expect."""
        with suppress(ssl.SSLError):  # the other side has not said so, and need not
            self._tls.unwrap()

    def to_send(self) -> bytes:
        """Returns the bytes to send, and forgets them."""
        return self._outgoing.read()


def read_who(certificate: Mapping[str, Any]) -> Who:
    """The member or user in a verified certificate, as `SSLObject.getpeercert` gives it."""
    alternatives: tuple[tuple[str, str], ...] = certificate.get("subjectAltName", ())
    subject: tuple[tuple[tuple[str, str], ...], ...] = certificate.get("subject", ())
    uris = [value for kind, value in alternatives if kind == "URI"]
    try:
        (role,) = [uri.removeprefix(ROLE) for uri in uris if uri.startswith(ROLE)]
        member = MemberKind(role)
    except ValueError:
        raise TlsError("its certificate does not say that it is a member of a cluster") from None
    names = [value for group in subject for kind, value in group if kind == "commonName"]
    users = [uri.removeprefix(USER) for uri in uris if uri.startswith(USER)]
    expires = ssl.cert_time_to_seconds(certificate["notAfter"])
    hosts = tuple(value for kind, value in alternatives if kind == "DNS")
    return Who(member, names[0] if names else "", expires, users[0] if users else "", hosts)
