"""The headers of the stream: requests of readers and answers of holders. No I/O.

All headers have a fixed length, and the only text in an answer is bounded, so that a bad peer can
make the other side wait for, or store, only a few thousand bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId

HELLO = b"RainData"
"""The first bytes of a reader after admission."""

TEXT_LIMIT = 8 * 1024
"""The longest text in an answer: a reason or a path."""

NOBODY = bytes(16)
"""The key if no machine or client is named."""

PART_ASKED_AT_ONCE = 1024
"""Objects of which a reader may ask for a part in one request."""

_REQUEST = Struct("!BB6xqqQ16s")
_ID = Struct("!q")
_LENGTH = Struct("!Q")

IN_FILE = 1 << 63
"""In a table of lengths: the piece is not sent, and the place of its file follows behind them."""
_ANSWER = Struct("!BB2xIQ")

_MOST_DIGITS = len(str((1 << 64) - 1))

REQUEST_SIZE = _REQUEST.size
ANSWER_SIZE = _ANSWER.size


class Ask(IntEnum):
    """The kinds of requests."""

    READ = 1  # read an object
    WRITE = 2  # upload an object
    ADOPT = 3  # upload an object as a file of the same machine
    LINKED = 4  # that file is in its place
    RANGE = 5  # read some bytes of an object; they are named behind the request (ranges.py)
    PARTS = 6  # read one part of each of several objects
    READ_ON = 7  # read the rest of an object, if it is the same
    CALLED = 8  # from a governor that calls back: from now on this side answers


class Say(IntEnum):
    """The kinds of answers."""

    BYTES = 0  # `length` bytes follow: the blob, or a tar of the directory
    NOT_HERE = 1  # this holder does not have the object (any more)
    SHARED = 2  # it is at a place that the reader can access itself
    READY = 3  # the upload may start
    DONE = 4  # the upload is complete
    REFUSED = 5  # the text says why
    LINK = 6  # the text says where the file of an upload is to be linked
    PIECES = 7  # a table of the lengths of `length` pieces follows, then those that are sent
    CHANGED = 8  # the object is here, but it is not the same


@frozen
class StreamRequest:
    """One request; `key` is the reader's machine, the client that uploads, a stamp or a ticket."""

    ask: Ask
    object: ObjectId  # for parts: the number of the part, and the ids of the objects follow
    holder: int = 0  # the incarnation that must answer; 0 for any
    length: int = 0  # of an upload, or of what a reader has; for parts: of how many objects
    key: bytes = NOBODY
    blocks: bool = False  # whether the body may come in blocks (packing.py)

    def encode(self) -> bytes:
        return _REQUEST.pack(self.ask, self.blocks, self.object, self.holder, self.length, self.key)

    @staticmethod
    def decode(data: bytes) -> StreamRequest:
        number, blocks, object_id, holder, length, key = _REQUEST.unpack(data)
        try:
            ask = Ask(number)
        except ValueError:
            raise ProtocolError(f"a stream has the unknown request {number}") from None
        return StreamRequest(ask, ObjectId(object_id), holder, length, key, blocks == 1)


def encode_ids(ids: Sequence[ObjectId]) -> bytes:
    """The objects of which a part is read."""
    return b"".join(map(_ID.pack, ids))


def decode_ids(data: bytes) -> list[ObjectId]:
    """Reads them; the caller has received `ids_size` bytes."""
    return [ObjectId(number) for (number,) in _ID.iter_unpack(data)]


def ids_size(request: StreamRequest) -> int:
    """How many bytes follow a request for parts."""
    if not 0 < request.length <= PART_ASKED_AT_ONCE or request.object < 0:
        raise ProtocolError(f"a stream asks for parts of {request.length} objects")
    return request.length * _ID.size


def encode_lengths(lengths: Sequence[int]) -> bytes:
    """The table of the lengths of pieces."""
    return b"".join(map(_LENGTH.pack, lengths))


def decode_lengths(data: bytes) -> list[int]:
    """Reads it."""
    return [length for (length,) in _LENGTH.iter_unpack(data)]


def lengths_size(count: int) -> int:
    """How many bytes such a table has."""
    return count * _LENGTH.size


@frozen
class StreamAnswer:
    """The header of an answer with its text."""

    say: Say
    length: int = 0
    text: str = ""
    blocks: bool = False  # whether the body comes in blocks; of READY, whether it has to

    def encode(self) -> bytes:
        text = self.text.encode(errors="surrogateescape")[:TEXT_LIMIT]
        return _ANSWER.pack(self.say, self.blocks, len(text), self.length) + text

    @staticmethod
    def decode(head: bytes) -> tuple[StreamAnswer, int]:
        """Decodes the answer without its text; also returns the length of the text."""
        number, blocks, text_length, length = _ANSWER.unpack(head)
        try:
            say = Say(number)
        except ValueError:
            raise ProtocolError(f"a stream has the unknown answer {number}") from None
        if text_length > TEXT_LIMIT:
            raise ProtocolError(f"a stream answers with a text of {text_length} bytes")
        return StreamAnswer(say, length, blocks=blocks == 1), text_length


@frozen
class SharedPlace:
    """The path of a stored object, with device and inode to verify that it is the same file."""

    path: str
    device: int
    inode: int

    def spell(self) -> str:
        return f"{self.device} {self.inode} {self.path}"

    @staticmethod
    def read(text: str) -> SharedPlace:
        device, _, rest = text.partition(" ")
        inode, _, path = rest.partition(" ")
        on, which = number_in(device), number_in(inode)
        if on is None or which is None or not path:
            raise ProtocolError(f"a stream names the invalid place {text[:100]!r}")
        return SharedPlace(path, on, which)


def number_in(text: str) -> int | None:
    """The number of at most 64 bits that a text is; None for any other text."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
