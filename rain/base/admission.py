"""Who is let in: what two peers say to each other before anything else. Pure.

Every connection to a port of ours begins with it, before the first byte of any other protocol:

    dialler   hello: what it speaks, its role, whether it has a secret, a nonce
    acceptor  open (neither has a secret), or refused or full with a reason, or ask: a nonce
    dialler   its proof
    acceptor  refused with a reason, or welcome: its own proof

A proof is the HMAC-SHA256 of both nonces, the role and the side, under the secret of the cluster.
So the secret never travels, a recorded proof is of no use later, nobody can pass another's proof
on as its own, and both sides know that the other one has the secret before they say anything else.
What follows is neither encrypted nor signed.

Both sides are generators: they yield a number of bytes that they want, or bytes to be sent, and
return when they are satisfied. Whoever holds the socket drives them (rain/rpc/handshake.py).
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
from collections.abc import Generator
from typing import TypeAlias

from attrs import field, frozen

from rain.base.errors import ProtocolError, RainError

MAGIC = b"rain/1\r\n"
NONCE = 32
PROOF = 32
HELLO = 2 + NONCE  # behind the magic: the role, whether there is a secret, and the nonce
LONGEST_REASON = 500
SHORTEST_SECRET = 16
OF_USER = b"this-machine:"
"""How the key of a user begins (rain/daemon/user_key.py)."""

HTTP_USER = "rain"
"""Any name will do; URLs need one."""

_OPEN, _ASK, _WELCOME, _REFUSED, _FULL = b"o", b"?", b"w", b"x", b"f"
_DIALLER, _ACCEPTOR = b"dialler", b"acceptor"


class NotAdmittedError(RainError):
    """One side does not let the other in: no secret, or a wrong one."""


class NoRoomError(RainError):
    """The acceptor can take nobody in at present, and says why."""


class Role(enum.Enum):
    """What a dialler wants to be."""

    CLIENT = b"c"
    GOVERNOR = b"g"
    READER = b"r"  # of data


@frozen
class Secret:
    """What all members of a cluster know, and nobody else."""

    key: bytes = field(repr=False)

    @staticmethod
    def of(text: str | bytes) -> Secret:
        """A secret from text; ValueError when it is too short, or more than one word."""
        key = text.strip() if isinstance(text, bytes) else text.strip().encode()
        if not all(33 <= byte <= 126 for byte in key):
            raise ValueError("a secret is one word of ASCII characters")
        if len(key) < SHORTEST_SECRET:
            raise ValueError(
                f"a secret has {SHORTEST_SECRET} characters or more, this has {len(key)}"
            )
        return Secret(key)

    @property
    def of_user(self) -> bool:
        """Whether it is the key of a user, which serves all clusters on loopback of that user."""
        return self.key.startswith(OF_USER)

    def at(self, host: str, port: int) -> Secret:
        """What is proved where the dialler calls this address, and the acceptor is called at it.

        With the key of a user it is another secret for each address. A rogue that listens where no
        server of the user does could otherwise pass all words on to one elsewhere, and go on in the
        name of the user when it was let in. Addresses may be translated on the way between
        machines, so the secret of a cluster is the same everywhere.
        """
        if not self.of_user:
            return self
        return Secret(self.sign(b"address", host.encode(), str(port).encode()))

    def sign(self, *parts: bytes) -> bytes:
        """The HMAC of some parts, each with its length, so that no two lists look the same."""
        message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.digest(self.key, message, hashlib.sha256)

    def http_token(self, port: int = 0) -> str:
        """What is told over HTTP in the place of the secret; the secret cannot be found from it.

        That of the key of a user opens one port alone.
        """
        parts = (str(port).encode(),) if self.of_user else ()
        return self.sign(b"http", *parts).hex()


Step: TypeAlias = bytes | int
"""What a side wants: bytes to be sent, or to receive so many."""


@frozen
class Admitted:
    """Who was let in."""

    role: Role


def accept(secret: Secret | None, nonce: bytes) -> Generator[Step, bytes, Admitted]:
    """The side that was called. Raises `ProtocolError` or, when it has said why, `NotAdmitted`."""
    if (yield len(MAGIC)) != MAGIC:
        raise ProtocolError("it does not begin as one of this version of Rain does")
    role, has_secret, theirs = _read_hello((yield HELLO))
    if secret is None:
        if has_secret:
            yield from _refuse(
                "this side was started without a secret, and the other one expects it to have one"
            )
        yield _OPEN
        return Admitted(role)
    if not has_secret:
        yield from _refuse(
            "a secret is needed here: name its file with RAIN_SECRET_FILE or secret_file"
        )
    yield _ASK + nonce
    proof = yield PROOF
    if not hmac.compare_digest(proof, secret.sign(_DIALLER, role.value, theirs, nonce)):
        yield from _refuse("the secret is not the one of this cluster")
    yield _WELCOME + secret.sign(_ACCEPTOR, role.value, theirs, nonce)
    return Admitted(role)


def dial(secret: Secret | None, role: Role, nonce: bytes) -> Generator[Step, bytes, None]:
    """The side that calls. Raises `NotAdmittedError` or `NoRoomError`.

    `ProtocolError`: the other side speaks another protocol.
    """
    yield MAGIC + role.value + (b"\0" if secret is None else b"\1") + nonce
    word = yield 1
    if word == _OPEN and secret is None:
        return
    if word == _ASK and secret is not None:
        theirs = yield NONCE
        yield secret.sign(_DIALLER, role.value, nonce, theirs)
        word = yield 1
        if word == _WELCOME:
            proof = yield PROOF
            if hmac.compare_digest(proof, secret.sign(_ACCEPTOR, role.value, nonce, theirs)):
                return
            raise NotAdmittedError("what listens there does not know the secret of this cluster")
    if word in {_REFUSED, _FULL}:
        length = yield 2
        reason = (yield int.from_bytes(length, "big")).decode("utf-8", "replace")
        raise NotAdmittedError(reason) if word == _REFUSED else NoRoomError(reason)
    raise ProtocolError("it does not answer as one does")


def turn_away(reason: str) -> Generator[Step, bytes, None]:
    """The side that was called, and can take nobody in."""
    yield len(MAGIC) + HELLO
    yield _with_reason(_FULL, reason)


def _refuse(reason: str) -> Generator[Step, bytes, None]:
    yield _with_reason(_REFUSED, reason)
    raise NotAdmittedError(reason)


def _with_reason(word: bytes, reason: str) -> bytes:
    text = reason.encode()[:LONGEST_REASON]
    return word + len(text).to_bytes(2, "big") + text


def _read_hello(hello: bytes) -> tuple[Role, bool, bytes]:
    try:
        role = Role(hello[:1])
    except ValueError:
        raise ProtocolError(f"there is no role {hello[:1]!r}") from None
    return role, hello[1] == 1, hello[2:]


def http_url(secret: Secret | None, address: str) -> str:
    """With which a browser opens what is served at this address, without asking its user."""
    if secret is None:
        return f"http://{address}/"
    token = secret.http_token(int(address.rpartition(":")[2]))
    return f"http://{HTTP_USER}:{token}@{address}/"


def may_read_http(secret: Secret | None, authorization: str, port: int = 0) -> bool:
    """Whether a request with this `Authorization` header may be answered.

    The token stands as the password of any user name (which browsers ask for), or as a bearer's.
    """
    if secret is None:
        return True
    scheme, _, rest = authorization.strip().partition(" ")
    given = rest.strip()
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2]
        except ValueError:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.encode(), secret.http_token(port).encode())
