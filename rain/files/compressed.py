"""Reads compressed files, in the formats that fsspec knows."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any

from rain.files.systems import import_fsspec

Opener = Callable[[IO[bytes]], IO[bytes]]


def opener_of(compression: str | None, name: str) -> Opener | None:
    """What opens a compressed stream; None if it is not compressed.

    ValueError for a format that is not known here.
    """
    if compression is None:
        return None
    fsspec = import_fsspec()
    chosen = fsspec.utils.infer_compression(name) if compression == "infer" else compression
    if chosen is None:
        return None
    known: dict[str, Any] = fsspec.compression.compr
    if chosen not in known:
        names = ", ".join(sorted(filter(None, known)))
        raise ValueError(f"compression {chosen!r} is not known here; there are {names}")
    decompressor = known[chosen]
    return lambda stream: io.BufferedReader(_Decompressed(decompressor(stream, mode="rb"), stream))


class _Decompressed(io.RawIOBase):
    """Closes what it reads from, too: decompressors leave that open."""

    def __init__(self, decompressor: IO[bytes], stream: IO[bytes]) -> None:
        super().__init__()
        self._decompressor = decompressor
        self._stream = stream

    def readable(self) -> bool:
        return True

    # Accepts any buffer, like the base class with its more complicated type.
    def readinto(self, buffer: Any, /) -> int:
        data = self._decompressor.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._decompressor.close()
        self._stream.close()
        super().close()
