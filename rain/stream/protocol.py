"""The headers of the stream: what a reader asks, and what a holder answers. Pure.

All headers have a fixed length, and the one text in an answer is bounded, so that nobody can make
anybody else wait for, or keep, more than a few thousand bytes of nonsense.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId

HELLO = b"RainData"
"""What a reader says first, once it is admitted."""

TEXT_LIMIT = 8 * 1024
"""The longest text in an answer: a reason, or a path."""

NOBODY = bytes(16)
"""Where a machine or a client could be named, and is not."""

_REQUEST = Struct("!B7xqqQ16s")
_ANSWER = Struct("!B3xIQ")

REQUEST_SIZE = _REQUEST.size
ANSWER_SIZE = _ANSWER.size


class Ask(IntEnum):
    """What is wanted."""

    READ = 1  # an object
    WRITE = 2  # to upload one


class Say(IntEnum):
    """How an answer goes on."""

    BYTES = 0  # so many bytes follow: the blob, or a tar of the directory
    NOT_HERE = 1  # this holder does not have the object (any more)
    SHARED = 2  # it is at a place that the reader reaches by itself
    READY = 3  # the upload may begin
    DONE = 4  # the upload is complete
    REFUSED = 5  # and why


@frozen
class Request:
    """One question; `key` is the reader's machine, or the client that uploads."""

    ask: Ask
    object: ObjectId
    holder: int = 0  # the incarnation that shall answer, 0 for whoever listens there
    length: int = 0  # of an upload
    key: bytes = NOBODY

    def encode(self) -> bytes:
        return _REQUEST.pack(self.ask, self.object, self.holder, self.length, self.key)

    @staticmethod
    def decode(data: bytes) -> Request:
        number, object_id, holder, length, key = _REQUEST.unpack(data)
        try:
            ask = Ask(number)
        except ValueError:
            raise ProtocolError(f"a stream asks for {number}, which nobody knows") from None
        return Request(ask, ObjectId(object_id), holder, length, key)


@frozen
class Answer:
    """The header of an answer, with its text."""

    say: Say
    length: int = 0
    text: str = ""

    def encode(self) -> bytes:
        text = self.text.encode(errors="surrogateescape")[:TEXT_LIMIT]
        return _ANSWER.pack(self.say, len(text), self.length) + text

    @staticmethod
    def decode(head: bytes) -> tuple[Answer, int]:
        """The answer without its text, and how long the text behind it is."""
        number, text_length, length = _ANSWER.unpack(head)
        try:
            say = Say(number)
        except ValueError:
            raise ProtocolError(f"a stream answers {number}, which nobody knows") from None
        if text_length > TEXT_LIMIT:
            raise ProtocolError(f"a stream answers with a text of {text_length} bytes")
        return Answer(say, length), text_length


@frozen
class SharedPlace:
    """Where a stored object is, and how to see that this is the same file there and here."""

    path: str
    device: int
    inode: int

    def spell(self) -> str:
        return f"{self.device} {self.inode} {self.path}"

    @staticmethod
    def read(text: str) -> SharedPlace:
        device, _, rest = text.partition(" ")
        inode, _, path = rest.partition(" ")
        if not (device.isdecimal() and inode.isdecimal() and path):
            raise ProtocolError(f"a stream names the place {text[:100]!r}, which is none")
        return SharedPlace(path, int(device), int(inode))
