"""Where the modules are that a program imports from its own folders, told with each function.

It follows behind the end of the function's pickle, where no unpickler looks:

    pickle | key, folders | length of the last | "rainpath"
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import msgpack

if TYPE_CHECKING:
    from mmap import mmap

_MAGIC = b"rainpath"
_FOOTER = Struct("<I8s")


class Imports(NamedTuple):
    """The folders of one program, and a key that is another one when a module may be another."""

    key: str
    folders: tuple[str, ...]


def with_imports(pickled: bytes, imports: Imports) -> bytes:
    """The pickle, and behind it from where its modules are imported."""
    told: bytes = msgpack.packb([imports.key, imports.folders])
    return b"".join((pickled, told, _FOOTER.pack(len(told), _MAGIC)))


def imports_of(data: bytes | mmap) -> Imports | None:
    """What was told behind a pickle; None for one that tells nothing."""
    end = len(data) - _FOOTER.size
    if end < 0:
        return None
    length, magic = _FOOTER.unpack(data[end:])
    if magic != _MAGIC or length > end:
        return None
    key, folders = msgpack.unpackb(data[end - length : end])
    return Imports(key, tuple(folders))
