"""The format of an entry: its key, its outputs, and a checksum at the end.

Small outputs are in the entry itself. The others lie beside it, as files and folders whose names
are their places among the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack
from attrs import frozen

from rain.base.caching import Key, Parts
from rain.cache.digests import digest_of
from rain.cache.errors import DamagedEntryError

MAGIC = b"rain cache entry 1\n"
_SUM = 40  # characters


@frozen
class Output:
    """One output of a task: its bytes, or the file or folder that has them."""

    content: bytes | Path
    content_type: str = ""
    user: str = ""  # JSON
    size: int = 0  # bytes of its transport form


@frozen
class KeptOutput:
    """An output in an entry; `data` is None if it lies beside the entry."""

    content_type: str
    user: str
    size: int
    digest: str
    data: bytes | None = None
    is_folder: bool = False


@frozen
class Entry:
    """What was kept of one run of a task."""

    name: str
    parts: Parts
    seconds: float  # that the run took
    outputs: tuple[KeptOutput, ...]


def encode(key: Key, seconds: float, outputs: Sequence[KeptOutput]) -> bytes:
    """The bytes of an entry."""
    rows = [
        [kept.content_type, kept.user, kept.size, kept.digest, kept.data, kept.is_folder]
        for kept in outputs
    ]
    body: bytes = msgpack.packb([key.name, key.parts, seconds, rows])
    return b"".join((MAGIC, body, digest_of(body).encode()))


def decode(data: bytes) -> Entry:
    """The entry of these bytes; DamagedEntryError when these are none."""
    body, summed = data[len(MAGIC) : -_SUM], data[-_SUM:]
    if not data.startswith(MAGIC) or digest_of(body).encode() != summed:
        raise DamagedEntryError("its checksum is wrong")
    name, parts, seconds, rows = msgpack.unpackb(body)
    outputs: list[Any] = [KeptOutput(*row) for row in rows]
    return Entry(name, tuple((words, digest) for words, digest in parts), seconds, tuple(outputs))
