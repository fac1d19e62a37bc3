"""Certificates of tests, and TLS handshakes without sockets."""

from __future__ import annotations

import functools
import socket
import tempfile
from collections import deque
from pathlib import Path

from rain.base.admission import MemberKind
from rain.tls import folder, handshake
from rain.tls.encrypted import Encrypted
from rain.tls.handshake import Shaking
from rain.tls.identity import Identity
from rain.tls.making import Authority, Wanted
from rain.tls.pump import Pump

HOSTS = ("localhost", "127.0.0.1")


def keys_of(cluster: str = "one") -> Path:
    """The folder of the keys of a cluster, which is the same in all tests of a program."""
    return _keys_of(cluster)


@functools.cache
def _keys_of(cluster: str) -> Path:
    keeps = tempfile.TemporaryDirectory(prefix=f"rain-{cluster}-")  # until the program ends
    _kept.append(keeps)
    folder.create(Path(keeps.name), HOSTS, 30)
    folder.add_client(Path(keeps.name), "ada", 30)
    return Path(keeps.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def identity(member: MemberKind, cluster: str = "one") -> Identity:
    return Identity.read(keys_of(cluster), member)


def expired(member: MemberKind) -> bytes:
    """The file of a member whose certificate has expired."""
    authority = Authority.read((keys_of() / folder.AUTHORITY).read_bytes())
    return authority.issue(Wanted(member, "late", days=-0.01))


def keep(path: Path, content: bytes) -> Path:
    """Writes a file as the files of members are: nobody else can read it."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


class Side:
    """One side of a handshake, driven by hand; `error` is what ended it."""

    def __init__(self, shaking: Shaking) -> None:
        self._shaking = shaking
        self.said: deque[bytes] = deque()
        self.error: Exception | None = None
        self.is_done = False
        self._go_on(None)

    def hear(self, data: bytes) -> None:
        self._go_on(data)

    def _go_on(self, data: bytes | None) -> None:
        try:
            step = next(self._shaking) if data is None else self._shaking.send(data)
            while step is not None:
                self.said.append(step)
                step = self._shaking.send(b"")
        except StopIteration:
            self.is_done = True
        except Exception as error:  # noqa: BLE001 # the tests look at it
            self.error = error
            self.is_done = True


def meet(accepting: Pump, dialling: Pump, piece: int = 1 << 20) -> tuple[Side, Side]:
    """Both sides of a handshake over a wire that cuts what is said into pieces."""
    there, here = Side(handshake.accept(accepting)), Side(handshake.dial(dialling))
    while there.said or here.said:
        for speaker, hearer in ((here, there), (there, here)):
            said = b"".join(speaker.said)
            speaker.said.clear()
            for start in range(0, len(said), piece):
                if hearer.is_done:
                    break
                hearer.hear(said[start : start + piece])
    return there, here


def encrypted_pair(
    accepted: socket.socket, connected: socket.socket
) -> tuple[Encrypted, Encrypted]:
    """Both sockets of a client's connection, encrypted: the handshake took place elsewhere."""
    accepting = identity(MemberKind.SERVER).accepting()
    dialling = identity(MemberKind.CLIENT).dialling(MemberKind.SERVER)
    there, here = meet(accepting, dialling)
    assert (there.error, here.error) == (None, None)
    return Encrypted(accepted, accepting), Encrypted(connected, dialling)
