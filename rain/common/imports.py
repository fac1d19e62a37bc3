"""The folders from which a program imports its own modules, and what it has uploaded; sent with
each function.

They are appended after the end of the function's pickle, where no unpickler reads:


    pickle | key, folders, uploads | length of the last | "rainpath"
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
    """What one program imports from, and a key that changes if a module may have changed."""

    key: str
    folders: tuple[str, ...]
    uploads: tuple[bytes, ...] = ()  # zip archives, which come before the folders


def with_imports(pickled: bytes, imports: Imports) -> bytes:
    """Appends what a program imports from to a pickle."""
    told: bytes = msgpack.packb(list(imports))
    return b"".join((pickled, told, _FOOTER.pack(len(told), _MAGIC)))


def imports_of(data: bytes | mmap) -> Imports | None:
    """Reads what is behind a pickle; None if there is nothing."""
    end = len(data) - _FOOTER.size
    if end < 0:
        return None
    length, magic = _FOOTER.unpack(data[end:])
    if magic != _MAGIC or length > end:
        return None
    key, folders, uploads = msgpack.unpackb(data[end - length : end])
    return Imports(key, tuple(folders), tuple(uploads))


def code_of(data: bytes) -> bytes | None:
    """What two processes that run the same code tell of a function alike; None if nobody can say.

    That is its pickle, the states of the files that it may have come from, and what was uploaded;
    not which process it was, and from which folders that one imports.
    """
    try:
        imports = imports_of(data)
        if imports is None:
            return data
        _, _, states = imports.key.partition("-")
        told: bytes = msgpack.packb([states, list(imports.uploads)])
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
        return None  # somebody else has written it
    end = len(data) - _FOOTER.size
    length, _ = _FOOTER.unpack(data[end:])
    return data[: end - length] + told
