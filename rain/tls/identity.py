"""The identity of a member: the file with its key, its certificate and that of the authority.

The file is checked again for every connection: if it was replaced by a renewed one, the next
connection uses that, and nothing has to be restarted.
"""

from __future__ import annotations

import logging
import os
import ssl
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from attrs import define, field, frozen

from rain.base.admission import MemberKind, Secret
from rain.base.errors import StartError
from rain.tls import contexts
from rain.tls.errors import TlsError
from rain.tls.pem import Papers, read_papers, spell_papers
from rain.tls.pump import Pump, Who

log = logging.getLogger(__name__)

DAY = 86400.0
WARN_BEFORE = 30 * DAY
"""How long before the end of a certificate its owner is warned."""


@frozen
class _Stamp:
    """By what a file is known again that was not replaced."""

    inode: int
    changed: int
    size: int


@frozen
class _Contexts:
    """All that is made of one content of the file."""

    accepting: ssl.SSLContext
    http: ssl.SSLContext
    dialling: ssl.SSLContext
    who: Who
    tasks: bytes | None  # the file of the tasks of a governor
    secret: Secret  # from which the password of HTTP is made, if nobody has given another secret


@define(eq=False)
class Identity:
    """The identity of one member. Thread-safe."""

    path: Path
    _contexts: _Contexts = field(repr=False)
    _stamp: _Stamp
    _lock: threading.Lock = field(factory=threading.Lock, repr=False)

    @classmethod
    def read(cls, path: Path, member: MemberKind) -> Self:
        """Reads the file, or the file of this member in a folder; StartError says what is wrong."""
        if path.is_dir():
            path = path / f"{member.value}.pem"
        content, stamp = _content(path)
        made = _made(content, path)
        found = made.who.member
        if found is not member:
            raise StartError(
                f"{path} is for a {found.value}, and this is a {member.value}: use the file"
                f" {member.value}.pem"
            )
        return cls(path, made, stamp)

    @staticmethod
    def read_from(descriptor: int, member: MemberKind) -> Identity:
        """The same with the content of a descriptor, which is kept in memory."""
        try:
            with os.fdopen(descriptor, "rb") as handed:
                content = handed.read()
        except OSError as error:
            raise StartError(
                f"the TLS descriptor {descriptor} cannot be read: {error.strerror}"
            ) from None
        kept = os.memfd_create("rain-identity", os.MFD_CLOEXEC)  # as long as the program runs
        os.fchmod(kept, 0o600)
        with os.fdopen(kept, "wb", closefd=False) as file:
            file.write(content)
        return Identity.read(Path(f"/proc/self/fd/{kept}"), member)

    @property
    def who(self) -> Who:
        return self._current().who

    @property
    def tasks(self) -> bytes | None:
        """The file for the tasks of a governor, with which they are clients."""
        return self._current().tasks

    @property
    def secret(self) -> Secret:
        """The secret from which the password of HTTP is made."""
        return self._current().secret

    @property
    def for_asking_http(self) -> ssl.SSLContext:
        """For a program that asks a server over HTTP."""
        return self._current().dialling

    def accepting(self, *, certificate_optional: bool = False) -> Pump:
        """For a connection that was accepted; the role of the other side is not looked at here.

        Browsers have no certificate, so it is optional where they may come.
        """
        current = self._current()
        context = current.http if certificate_optional else current.accepting
        return Pump(context, accepts=True, certificate_optional=certificate_optional)

    def dialling(self, *expects: MemberKind) -> Pump:
        """For a connection to one of these members."""
        return Pump(self._current().dialling, accepts=False, expects=frozenset(expects))

    def warning(self, now: float) -> str:
        """What the owner of the file is to be told, or nothing."""
        left = self.who.expires - now
        if left > WARN_BEFORE:
            return ""
        if left < 0:
            return f"the certificate {self.path} has expired: renew it with 'rain keys renew'"
        return (
            f"the certificate {self.path} expires in {left / DAY:.0f} days: renew it with"
            " 'rain keys renew'"
        )

    def _current(self) -> _Contexts:
        try:
            stamp = _stamp_of(self.path.stat())
        except OSError:  # what was read is still good
            return self._contexts
        if stamp == self._stamp:
            return self._contexts
        with self._lock:
            if stamp != self._stamp:
                self._stamp = stamp  # one try for each content
                self._renew()
        return self._contexts

    def _renew(self) -> None:
        before = self._contexts.who.member
        try:
            content, _ = _content(self.path)
            made = _made(content, self.path)
            if made.who.member is not before:
                raise StartError(f"{self.path} is for a {made.who.member.value} now")
        except StartError as error:
            log.warning("the certificate is not renewed: %s", error)
            return
        self._contexts = made
        log.info("the certificate %s was renewed", self.path)


def _content(path: Path) -> tuple[bytes, _Stamp]:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = file.read()
    except OSError as error:
        raise StartError(f"the TLS file {path} cannot be read: {error.strerror}") from None
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise StartError(f"the TLS file {path} is open to others: chmod 600 {path}")
    return content, _stamp_of(status)


def _stamp_of(status: os.stat_result) -> _Stamp:
    return _Stamp(status.st_ino, status.st_mtime_ns, status.st_size)


def _made(content: bytes, path: Path) -> _Contexts:
    """The contexts of a file, which is tried: StartError if nobody would accept it."""
    try:
        papers, tasks = read_papers(content)
    except ValueError as error:
        raise StartError(f"the TLS file {path} {error}") from None
    try:
        accepting, http = contexts.accepting(papers), contexts.accepting(papers)
        dialling = contexts.dialling(papers)
        who = _try(accepting, papers)
    except TlsError as error:
        raise StartError(f"the TLS file {path} cannot be used: {_ours(error)}") from None
    except (ssl.SSLError, ValueError):
        raise StartError(
            f"the TLS file {path} cannot be used: its key, its certificate and its authority do not"
            " belong together"
        ) from None
    http.verify_mode = ssl.CERT_OPTIONAL
    own = None if tasks is None else spell_papers(tasks)
    secret = Secret(Secret(papers.key).sign(b"http of a server"))
    return _Contexts(accepting, http, dialling, who, own, secret)


def _ours(error: TlsError) -> str:
    return (error.strerror or "").replace("its certificate", "the certificate in it")


def _try(accepting: ssl.SSLContext, papers: Papers) -> Who:
    """A handshake with ourselves: what the certificate says, if others would accept it."""
    trusting = contexts.dialling(papers)
    trusting.verify_mode = ssl.CERT_NONE  # of a client this would be the wrong purpose
    here = Pump(accepting, accepts=True)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    there = trusting.wrap_bio(incoming, outgoing)
    for _ in range(3):
        with suppress(ssl.SSLWantReadError):
            there.do_handshake()
        here.feed(outgoing.read())
        if here.shake_hands():
            return here.who
        incoming.write(here.to_send())
    raise TlsError("its certificate does not work")
