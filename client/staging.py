"""Writes large constants into files when they are made, so that they take no memory.

A value may change after the call that it was passed to, so it is pickled at once. Its large buffers
are written directly from the memory of the value into the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from rain.common.content_type import encode_parts
from rain.common.pickles import Part, joined, length_of
from rain.stream.staged import STAGED_FROM, Staged

if TYPE_CHECKING:
    from rain.client.session import Session

Constant: TypeAlias = bytes | Staged
"""The content of a constant in the client, until it is submitted."""


def encode_constant(session: Session, value: Any, content_type: str) -> Constant:
    """The bytes of a value, in memory or in a file."""
    return staged(session, encode_parts(value, content_type))


def staged(session: Session, parts: Sequence[Part]) -> Constant:
    """The bytes of consecutive parts, in memory or in a file. The parts may change afterwards."""
    if session.client is not None and length_of(parts) >= STAGED_FROM:
        made = session.client.connection.stage(parts)
        if made is not None:
            return made
    return joined(parts)


def bytes_of(constant: Constant) -> bytes:
    """All of it in memory."""
    return constant if isinstance(constant, bytes) else bytes(constant.view())


def digest_of(constant: Constant) -> bytes:
    """The digest of the bytes."""
    data = constant if isinstance(constant, bytes) else constant.view()
    return blake2b(data, digest_size=16).digest()


def is_same(parts: Sequence[Part], known: Staged) -> bool:
    """Whether a file has these bytes. The first difference ends the comparison."""
    if length_of(parts) != len(known):
        return False
    view, place = known.view(), 0
    for part in parts:
        whole = memoryview(part)
        for start in range(0, len(whole), _PIECE):
            piece = whole[start : start + _PIECE]
            if bytes(piece) != bytes(view[place : place + len(piece)]):
                return False
            place += len(piece)
    return True


_PIECE = 256 * 1024
"""Bytes that are compared at once, which stay in the caches of a processor."""
