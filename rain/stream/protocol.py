"""The headers of the stream: requests of readers and answers of holders. No I/O.

All headers have a fixed length, and the only text in an answer is bounded, so that a bad peer can
make the other side wait for, or store, only a few thousand bytes.
"""

from __future__ import annotations

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

_REQUEST = Struct("!B7xqqQ16s")
_ANSWER = Struct("!B3xIQ")

REQUEST_SIZE = _REQUEST.size
ANSWER_SIZE = _ANSWER.size


class Ask(IntEnum):
    """The kinds of requests."""

    READ = 1  # read an object
    WRITE = 2  # upload an object
    ADOPT = 3  # upload an object as a file of the same machine
    LINKED = 4  # that file is in its place
    RANGE = 5  # read some bytes of an object; they are named behind the request (ranges.py)


class Say(IntEnum):
    """The kinds of answers."""

    BYTES = 0  # `length` bytes follow: the blob, or a tar of the directory
    NOT_HERE = 1  # this holder does not have the object (any more)
    SHARED = 2  # it is at a place that the reader can access itself
    READY = 3  # the upload may start
    DONE = 4  # the upload is complete
    REFUSED = 5  # the text says why
    LINK = 6  # the text says where the file of an upload is to be linked


@frozen
class Request:
    """One request; `key` is the reader's machine, or the client that uploads."""

    ask: Ask
    object: ObjectId
    holder: int = 0  # the incarnation that must answer; 0 for any
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
            raise ProtocolError(f"a stream has the unknown request {number}") from None
        return Request(ask, ObjectId(object_id), holder, length, key)


@frozen
class Answer:
    """The header of an answer with its text."""

    say: Say
    length: int = 0
    text: str = ""

    def encode(self) -> bytes:
        text = self.text.encode(errors="surrogateescape")[:TEXT_LIMIT]
        return _ANSWER.pack(self.say, len(text), self.length) + text

    @staticmethod
    def decode(head: bytes) -> tuple[Answer, int]:
        """Decodes the answer without its text; also returns the length of the text."""
        number, text_length, length = _ANSWER.unpack(head)
        try:
            say = Say(number)
        except ValueError:
            raise ProtocolError(f"a stream has the unknown answer {number}") from None
        if text_length > TEXT_LIMIT:
            raise ProtocolError(f"a stream answers with a text of {text_length} bytes")
        return Answer(say, length), text_length


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
        if not (device.isdecimal() and inode.isdecimal() and path):
            raise ProtocolError(f"a stream names the invalid place {text[:100]!r}")
        return SharedPlace(path, int(device), int(inode))
