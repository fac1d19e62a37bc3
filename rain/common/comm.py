"""The frames between a governor and its executors: a length and a CBOR array [name, fields].

The length has four bytes, little-endian, and does not include itself.
"""

import struct
from typing import Any, Protocol, TypeGuard

from rain.common.content_type import decode_value, encode_value
from rain.common.errors import RainException

_LENGTH = struct.Struct("<I")
MAX_FRAME = 128 * 1024 * 1024


class Socket(Protocol):
    """The required methods of a connection; sockets have them."""

    def sendall(self, data: bytes, /) -> None: ...

    def recv(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


def encode_message(name: str, fields: dict[str, Any]) -> bytes:
    """Encodes one frame."""
    body = encode_value([name, fields], "cbor")
    if len(body) > MAX_FRAME:
        raise RainException(f"The message {name!r} has {len(body)} bytes; {MAX_FRAME} are allowed")
    return _LENGTH.pack(len(body)) + body


def decode_message(body: bytes) -> tuple[str, dict[str, Any]]:
    """Decodes a frame without its length into name and fields."""
    message = decode_value(body, "cbor")
    if not _is_message(message):
        raise RainException("A message must be an array of a name and a map")
    return message[0], message[1]


def _is_message(message: object) -> TypeGuard[tuple[str, dict[str, Any]]]:
    match message:
        case [str(), dict()]:
            return True
        case _:
            return False


class SocketWrapper:
    """Sends and receives whole messages; blocks."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket

    def send_message(self, name: str, fields: dict[str, Any]) -> None:
        self.socket.sendall(encode_message(name, fields))

    def receive_message(self) -> tuple[str, dict[str, Any]]:
        """Receives the next message; raises EOFError if the other side has hung up."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > MAX_FRAME:
            raise RainException(f"A message of {length} bytes came; {MAX_FRAME} are allowed")
        return decode_message(self._read(length))

    def _read(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size:
            piece = self.socket.recv(min(size, 1024 * 1024))
            if not piece:
                raise EOFError("the connection was closed")
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        self.socket.close()
