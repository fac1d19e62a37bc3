"""Admission: the authentication handshake of two peers. No I/O.

Every connection to our ports starts with it, before the first byte of any other protocol:

    dialler   hello: its protocol, its role, whether it has a secret, a nonce
    acceptor  open (neither has a secret), or refused, full or standby with a reason, or encrypted
              (TLS has to come first), or ask: a nonce
    dialler   its proof; with the secret of a user, the name of the user before it
    acceptor  refused with a reason, or welcome: its own proof

A proof is the HMAC-SHA256 of both nonces, the role and the side, with the secret of the cluster as
key. So the secret is never sent, a proof cannot be replayed or reflected, and each side knows that
the other has the secret before it sends anything else. Later traffic is neither
encrypted nor signed, unless the connection has begun with TLS (rain/tls): then all of this goes
through it. A user has a secret that follows from that of the cluster and from the user's name.

Both sides are generators: they yield a number of bytes to receive, or bytes to send, and return
when they are satisfied. The owner of the socket drives them (rain/rpc/handshake.py).
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
from collections.abc import Generator
from typing import TypeAlias
from urllib.parse import quote

from attrs import field, frozen

from rain.base.errors import ProtocolError, RainError
from rain.base.users import OWNER, check_user

MAGIC = b"rain/1\r\n"
TLS = b"\x16\x03"
"""The first bytes of a connection that is encrypted."""
NONCE = 32
PROOF = 32
HELLO = 2 + NONCE  # after the magic: the role, whether there is a secret, and the nonce
LONGEST_REASON = 500
SHORTEST_SECRET = 16
OF_USER = b"this-machine:"
"""The prefix of a user's key (rain/daemon/user_key.py)."""

_NAMED = b"user:"
"""The prefix of the secret of one user of a cluster: the name and the key follow."""

TLS_FILE = "RAIN_TLS"
"""The environment variable that names a file with a certificate, or the folder of `rain keys`."""

HTTP_USER = "rain"
"""URLs need a user name; any name is accepted."""

_OPEN, _ASK, _WELCOME, _REFUSED, _FULL, _STANDBY = b"o", b"?", b"w", b"x", b"f", b"s"
ENCRYPTED = b"t"
"""The answer to a dialler that does not encrypt, where everything is encrypted."""
_HTTP = b"H"
"""The answer of a server of HTTP, which begins with its name."""
_DIALLER, _ACCEPTOR = b"dialler", b"acceptor"
_NO_SECRET, _SECRET, _SECRET_OF_USER = b"\0", b"\1", b"\2"


class NotAdmittedError(RainError):
    """One side rejects the other: no secret, or a wrong one."""


class NeedsTlsError(NotAdmittedError):
    """The acceptor encrypts, and we do not."""

    def __init__(self) -> None:
        super().__init__(
            "everything is encrypted there: name the file of your certificate with --tls, RAIN_TLS"
            " or tls=..."
        )


class NotAcceptingError(RainError):
    """The acceptor cannot accept anyone at present, and says why."""


class StandsByError(NotAcceptingError):
    """The acceptor is a standby: it accepts nobody while another server leads the cluster."""


_REASONS = {_REFUSED: NotAdmittedError, _FULL: NotAcceptingError, _STANDBY: StandsByError}


class Role(enum.Enum):
    """The role that a dialler asks for."""

    CLIENT = b"c"
    GOVERNOR = b"g"
    READER = b"r"  # of data


class MemberKind(enum.Enum):
    """The kind of member in a certificate (rain/tls)."""

    SERVER = "server"
    GOVERNOR = "governor"
    CLIENT = "client"


ROLES_OF = {
    MemberKind.SERVER: frozenset({Role.READER}),  # it passes on what governors have
    MemberKind.GOVERNOR: frozenset({Role.GOVERNOR, Role.READER}),
    MemberKind.CLIENT: frozenset({Role.CLIENT, Role.READER}),
}
"""The roles that the owners of certificates may ask for."""


@frozen
class Secret:
    """The shared secret of all members of a cluster, or that of one user of it."""

    key: bytes = field(repr=False)
    user: str = ""

    @staticmethod
    def of(text: str | bytes) -> Secret:
        """Makes a secret from text; ValueError if it is too short or more than one word."""
        key = text.strip() if isinstance(text, bytes) else text.strip().encode()
        if not all(33 <= byte <= 126 for byte in key):
            raise ValueError("a secret is one word of ASCII characters")
        user = ""
        if key.startswith(_NAMED):
            name, _, key = key.removeprefix(_NAMED).partition(b":")
            user = check_user(name.decode())
        if len(key) < SHORTEST_SECRET:
            raise ValueError(
                f"a secret has {SHORTEST_SECRET} characters or more, this has {len(key)}"
            )
        return Secret(key, user)

    def spell(self) -> bytes:
        """What `of` reads."""
        return b"".join((_NAMED, self.user.encode(), b":", self.key)) if self.user else self.key

    def for_user(self, name: str) -> Secret:
        """The secret of one user of the cluster, from which that of the cluster does not follow."""
        return Secret(self.sign(b"user", check_user(name).encode()).hex().encode(), name)

    @property
    def of_user(self) -> bool:
        """Whether it is the key of a user (for all of that user's clusters on loopback)."""
        return self.key.startswith(OF_USER)

    def at(self, host: str, port: int) -> Secret:
        """The secret that is proved on a connection to this address.

        From the key of a user, a different secret is derived for each address. Otherwise a rogue
        program on a port without a server of the user could relay the handshake to a real server
        and then act in the name of the user. The secret of a cluster is the same for all
        addresses, because addresses may be translated between machines.
        """
        if not self.of_user:
            return self
        return Secret(self.sign(b"address", host.encode(), str(port).encode()))

    def sign(self, *parts: bytes) -> bytes:
        """The HMAC of the parts, each with its length, so that different lists never collide."""
        message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.digest(self.key, message, hashlib.sha256)

    def http_token(self, port: int = 0) -> str:
        """The token that is sent over HTTP instead of the secret, which cannot be derived from it.

        A token of the key of a user is valid for one port only. That of a user of a cluster has
        the name in it: `ada.6d65...`.
        """
        parts = (str(port).encode(),) if self.of_user else ()
        token = self.sign(b"http", *parts).hex()
        return f"{self.user}.{token}" if self.user else token


Step: TypeAlias = bytes | int
"""A request of a side: bytes to send, or the number of bytes to receive."""


@frozen
class Admitted:
    """An admitted peer."""

    role: Role
    user: str = ""  # of the cluster; "" is its owner


def accept(
    secret: Secret | None,
    nonce: bytes,
    member: MemberKind | None = None,
    user: str = "",
    *,
    lacks_certificate: bool = False,
) -> Generator[Step, bytes, Admitted]:
    """The accepting side. Raises `ProtocolError` or, after it has said why, `NotAdmittedError`.

    `member` and `user` come from the certificate of the other side, if there is one. A peer that
    `lacks_certificate` uses TLS without one, as browsers may, and is not admitted.
    """
    magic = yield len(MAGIC)
    if magic.startswith(TLS):
        raise ProtocolError("it encrypts, and this side was started without --tls")
    if magic != MAGIC:
        raise ProtocolError("it does not speak the protocol of this version of Rain")
    role, has_secret, theirs = _read_hello((yield HELLO))
    if lacks_certificate:
        yield from _refuse(
            f"a {role.name.lower()} needs a certificate of the cluster here (--tls, RAIN_TLS or"
            " tls=...), and it has none"
        )
    if member is not None and role not in ROLES_OF[member]:
        yield from _refuse(
            f"this is the certificate of a {member.value}, which does not admit a"
            f" {role.name.lower()}"
        )
    if secret is None:
        if has_secret != _NO_SECRET:
            yield from _refuse(
                "this side was started without a secret, but the other side expects one"
            )
        yield _OPEN
        return Admitted(role, user)
    if has_secret == _NO_SECRET:
        yield from _refuse(
            "a secret is needed here: set RAIN_SECRET_FILE or secret_file to its file"
        )
    yield _ASK + nonce
    if has_secret == _SECRET_OF_USER:
        length = yield 1
        named = yield max(1, length[0])
        secret, user = (yield from _secret_of(secret, named, role, user)), named.decode()
    proof = yield PROOF
    if not hmac.compare_digest(proof, secret.sign(_DIALLER, role.value, theirs, nonce)):
        yield from _refuse("the secret is not the secret of this cluster")
    yield _WELCOME + secret.sign(_ACCEPTOR, role.value, theirs, nonce)
    return Admitted(role, user)


def _secret_of(
    secret: Secret, named: bytes, role: Role, certified: str
) -> Generator[Step, bytes, Secret]:
    """The secret of the user that a dialler names, if it may have this role."""
    try:
        name = check_user(named.decode("ascii"))
    except ValueError:
        raise ProtocolError("it has sent an invalid user name") from None
    if role is Role.GOVERNOR:
        yield from _refuse("the secret of a user lets clients in, and no governor")
    if certified not in ("", name):
        yield from _refuse(f"the secret is that of {name}, and the certificate that of {certified}")
    return secret.for_user(name)


def dial(secret: Secret | None, role: Role, nonce: bytes) -> Generator[Step, bytes, None]:
    """The dialling side. Raises `NotAdmittedError` or `NotAcceptingError`.

    Raises `ProtocolError` if the other side speaks another protocol.
    """
    has_secret = _NO_SECRET if secret is None else _SECRET_OF_USER if secret.user else _SECRET
    yield MAGIC + role.value + has_secret + nonce
    word = yield 1
    if word == _OPEN and secret is None:
        return
    if word == _ASK and secret is not None:
        theirs = yield NONCE
        name = secret.user.encode()
        named = bytes([len(name)]) + name if name else b""
        yield named + secret.sign(_DIALLER, role.value, nonce, theirs)
        word = yield 1
        if word == _WELCOME:
            proof = yield PROOF
            if hmac.compare_digest(proof, secret.sign(_ACCEPTOR, role.value, nonce, theirs)):
                return
            raise NotAdmittedError("the listening program does not know the secret of this cluster")
    if word == ENCRYPTED:
        raise NeedsTlsError
    if word in _REASONS:
        length = yield 2
        reason = (yield int.from_bytes(length, "big")).decode("utf-8", "replace")
        raise _REASONS[word](reason)
    if word == _HTTP:
        raise ProtocolError("it speaks HTTP only: name the port of the server (its --listen)")
    raise ProtocolError("its answer is not in Rain's protocol")


def turn_away(reason: str, *, stands_by: bool = False) -> Generator[Step, bytes, None]:
    """The accepting side when it cannot accept anyone."""
    yield len(MAGIC) + HELLO
    yield _with_reason(_STANDBY if stands_by else _FULL, reason)


def _refuse(reason: str) -> Generator[Step, bytes, None]:
    yield _with_reason(_REFUSED, reason)
    raise NotAdmittedError(reason)


def _with_reason(word: bytes, reason: str) -> bytes:
    text = reason.encode()[:LONGEST_REASON]
    return word + len(text).to_bytes(2, "big") + text


def _read_hello(hello: bytes) -> tuple[Role, bytes, bytes]:
    try:
        role = Role(hello[:1])
    except ValueError:
        raise ProtocolError(f"there is no role {hello[:1]!r}") from None
    return role, hello[1:2], hello[2:]


def http_url(secret: Secret | None, address: str, scheme: str = "http") -> str:
    """A URL with which a browser opens this address without asking for a password."""
    if secret is None:
        return f"{scheme}://{address}/"
    token = secret.http_token(int(address.rpartition(":")[2]))
    return f"{scheme}://{HTTP_USER}:{quote(token, safe='')}@{address}/"


def who_reads_http(secret: Secret | None, authorization: str, port: int = 0) -> str | None:
    """The user who sent a request with this `Authorization` header; None if it is not answered.

    The token may be the password of any user name (as browsers send it), or a bearer token.
    """
    if secret is None:
        return OWNER
    scheme, _, rest = authorization.strip().partition(" ")
    given = rest.strip()
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2]
        except ValueError:
            return None
    elif scheme.lower() != "bearer":
        return None
    user = given.rpartition(".")[0]
    if user:
        try:
            secret = secret.for_user(user)
        except ValueError:
            return None
    is_right = hmac.compare_digest(given.encode(), secret.http_token(port).encode())
    return user if is_right else None
