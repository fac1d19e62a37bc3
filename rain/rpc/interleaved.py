"""One socket, two ways to speak: cuts calls of Cap'n Proto RPC and plain messages apart. Pure.

A call costs each side three messages and about ten turns of its loop. What is said for every task
therefore travels as *plain messages* (`rain.rpc.codec.plain`) between the calls: a word that says
what it is, a length, and so many bytes. No message of RPC begins with such a word: it begins with
how many segments it has, and of these there are at most 512.
"""

from collections.abc import Iterator
from enum import Enum
from struct import Struct

from rain.base.errors import ProtocolError

WORD = 4
HEADER = 2 * WORD
SEGMENTS_AT_MOST = 512
LONGEST = 256 * 1024 * 1024
"""Bytes of one message, a plain one or a call, unless its receiver takes less."""

UNLIMITED = 1 << 62
_FOR_EVER = 1 << 63


class Kind(bytes, Enum):
    """What a piece of the stream is, and the word that marks it."""

    CALLS = b""  # a part of whatever RPC says
    MESSAGE = b"\xff\xff\xff\xff"  # one plain message
    FAREWELL = b"\xfe\xff\xff\xff"  # why the connection ends: the last thing that is said
    ALIVE = b"\xfd\xff\xff\xff"  # nothing but a sign of life


_HEADER = Struct("<II")  # of a plain message: its mark and how long it is
_PLAIN = {int.from_bytes(kind, "little"): kind for kind in Kind if kind is not Kind.CALLS}


def marked(kind: Kind, content: bytes) -> bytes:
    """The bytes of a plain message or a farewell on the wire."""
    return kind + len(content).to_bytes(WORD, "little") + content


class Sorter:
    """Takes a stream in whatever pieces it comes; gives pieces of one kind, in their order.

    A message that is too long is refused when it says how long it is, before any of it is kept.
    """

    def __init__(self, limit: int = LONGEST) -> None:
        self.limit = limit
        self._rest = bytearray()  # the beginning of something that cannot be told yet
        self._needed = HEADER  # how long `rest` must be before looking at it makes sense
        self._passing: int = 0  # so many bytes of the RPC message are still to come

    def feed(self, chunk: bytes) -> Iterator[tuple[Kind, bytes]]:
        """What is whole with this chunk; `ProtocolError` for a message that is too long."""
        if self._rest:
            self._rest += chunk
            if len(self._rest) < self._needed:
                return
            chunk = bytes(self._rest)
            self._rest.clear()
        start, end = 0, len(chunk)
        while start < end:
            if self._passing:
                stop = min(end, start + self._passing)
                self._passing -= stop - start
                yield Kind.CALLS, chunk[start:stop]
                start = stop
                continue
            needed = HEADER
            if end - start >= HEADER:
                mark, length = _HEADER.unpack_from(chunk, start)
                kind = _PLAIN.get(mark)
                if kind is None:
                    needed = _table(mark)
                    if needed <= end - start:
                        content = _content(chunk, start) if needed else _FOR_EVER
                        if self.limit < content < _FOR_EVER:
                            raise _too_long("call", content, self.limit)
                        self._passing = needed + content
                        continue
                elif length > self.limit:
                    raise _too_long("message", length, self.limit)
                else:
                    needed = HEADER + length
                    if needed <= end - start:
                        yield kind, chunk[start + HEADER : start + needed]
                        start += needed
                        continue
            self._rest += chunk[start:]
            self._needed = needed
            return

    @property
    def inside_call(self) -> bool:
        """Whether a call has begun whose end is known, and still to come."""
        return bool(self._rest) or 0 < self._passing <= _FOR_EVER // 2

    def leftover(self) -> bytes:
        """What had begun when the stream ended."""
        return bytes(self._rest)


def _too_long(what: str, length: int, limit: int) -> ProtocolError:
    return ProtocolError(f"a {what} of {length} bytes; the limit is {limit}")


def _table(mark: int) -> int:
    """How long the table is that a call begins with, by its first word."""
    segments = mark + 1
    if segments > SEGMENTS_AT_MOST:
        return 0  # nonsense, and Cap'n Proto's to judge
    return WORD * (segments + 1 + (segments + 1) % 2)


def _content(chunk: bytes, start: int) -> int:
    """How many bytes follow the table of a call's segments."""
    segments = int.from_bytes(chunk[start : start + WORD], "little") + 1
    sizes = memoryview(chunk)[start + WORD : start + WORD * (segments + 1)]
    return 8 * sum(
        int.from_bytes(sizes[i : i + WORD], "little") for i in range(0, len(sizes), WORD)
    )
