"""The sockets of streams: blocking, with timeouts of the kernel.

A kernel timeout costs nothing and also applies to `sendfile` and `splice`. The connection to a peer
that neither sends nor receives anything for that time is given up.

Encrypted data passes through the memory of the process, in pieces that fit into the cpu caches.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Final, Self, TypeAlias

from rain.base.errors import RainError
from rain.tls.encrypted import Encrypted

Connected: TypeAlias = "socket.socket | Encrypted"
"""A connection, plain or encrypted: nothing but what is here tells them apart."""

Note: TypeAlias = Callable[[int], object]
"""Is told how many bytes of an object have moved by now, again and again while they move."""


class InBlocks(ABC):
    """A body that comes in blocks (`blocks`): what takes it sees the bytes of the object."""

    @abstractmethod
    def recv_into(self, target: memoryview, /) -> int:
        """Some of the next bytes; how many, and 0 at the end. As of a socket."""

    @abstractmethod
    def into_file(self, target: int, length: int, start: int, note: Note | None) -> None:
        """As `receive_file`."""


Incoming: TypeAlias = "socket.socket | Encrypted | InBlocks"
"""From where the bytes of an object come."""

STALL_LIMIT = 30.0
"""Seconds without a single byte after which a transfer is given up."""

BUFFER = 1024 * 1024
"""Bytes that are moved at once if they pass through our memory."""

PIECE = 256 * 1024
"""The same for what is encrypted or decrypted on its way."""

STRIDE = 16 * 1024 * 1024
"""Bytes that one system call moves at most; a transfer can be stopped between two calls."""


class BrokenError(RainError):
    """The other side ended the stream, stalled, or sent nonsense."""


class StalledError(BrokenError):
    """The other side has neither sent nor received anything within the limit."""


def prepare(connected: Connected, stall_limit: float = STALL_LIMIT) -> None:
    """Prepares a connected socket; raises OSError if it is already closed."""
    connected.setblocking(True)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    limit_waiting(connected, stall_limit)


def limit_waiting(connected: Connected, seconds: float) -> None:
    """Limits how long one call may wait for the other side."""
    whole = int(seconds)
    limit = struct.pack("ll", whole, int((seconds - whole) * 1_000_000))
    if isinstance(connected, Encrypted):
        connected.limit = seconds
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def receive(connected: Connected, size: int) -> bytes:
    """Receives a header of `size` bytes; b"" if the stream has ended before it.

    The time limit is for the whole header, so that a peer cannot send it byte by byte.
    """
    try:
        if isinstance(connected, Encrypted):
            data = connected.take_all(size)
        else:
            data = connected.recv(size, socket.MSG_WAITALL)
    except OSError as error:
        raise broken(error) from None
    if data and len(data) < size:
        raise BrokenError("a header was cut off, or came too slowly")
    return data


def receive_rest(connected: Connected, size: int) -> bytes:
    """The same for what has to come; `BrokenError` if the stream has ended before it."""
    data = receive(connected, size) if size else b""
    if len(data) < size:
        raise BrokenError("the stream was cut off")
    return data


def is_idle(connected: Connected) -> bool:
    """Whether nothing has arrived within the limit."""
    if isinstance(connected, Encrypted) and connected.has_rest:
        return False
    try:
        _bare(connected).recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError as error:
        raise broken(error) from None
    return False


def receive_into(
    connected: Incoming, target: memoryview, start: int = 0, note: Note | None = None
) -> int:
    """Fills the memory, but for its beginning; gives fewer than all only if the stream ends before.

    What is before `start` is there already.
    """
    got = start
    while got < len(target):
        try:
            count = connected.recv_into(target[got : got + STRIDE])
        except OSError as error:
            raise broken(error) from None
        if not count:
            break
        got += count
        if note is not None:
            note(got)
    return got


def receive_file(
    connected: Incoming,
    target: int,
    length: int,
    start: int = 0,
    note: Note | None = None,
) -> None:
    """Fills a file of this length from a socket: with splice, if it is not encrypted.

    The bytes before `start` are there already.
    """
    if isinstance(connected, InBlocks):
        connected.into_file(target, length, start, note)
        return
    if isinstance(connected, Encrypted):
        _receive_file_encrypted(connected, target, length, start, note)
        return
    with _Pipe() as pipe:
        done = start
        while done < length:
            done += pipe.move(connected.fileno(), target, length - done, done)
            if note is not None:
                note(done)


def _receive_file_encrypted(
    connected: Encrypted,
    target: int,
    length: int,
    start: int,
    note: Note | None,
) -> None:
    done = start
    for piece in _pieces(connected, length - start):
        left = piece
        while left:
            count = os.pwrite(target, left, done)
            left = left[count:]
            done += count
        if note is not None:
            note(done)


def pass_on(source: Connected, target: Connected, length: int) -> None:
    """Moves `length` bytes from one socket to another: with splice, if none is encrypted."""
    if isinstance(source, Encrypted) or isinstance(target, Encrypted):
        for piece in _pieces(source, length):
            send(target, piece)
        return
    with _Pipe() as pipe:
        while length:
            length -= pipe.move(source.fileno(), target.fileno(), length, None)


def is_silent(connected: Connected) -> bool:
    """Whether an unused connection is still usable: nothing has arrived, not even its end."""
    if isinstance(connected, Encrypted) and connected.has_rest:
        return False
    try:
        _bare(connected).recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def hang_up(connected: Connected) -> None:
    """Shuts the socket down; the thread that waits for it wakes up and closes it."""
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended already


def send(connected: Connected, data: bytes | memoryview) -> None:
    """Sends all of the data."""
    try:
        connected.sendall(data)
    except OSError as error:
        raise broken(error) from None


def send_noting(connected: Connected, data: bytes | memoryview, note: Note) -> None:
    """Sends all of the data, some at a time."""
    view = memoryview(data)
    for start in range(0, len(view), BUFFER):
        piece = view[start : start + BUFFER]
        send(connected, piece)
        note(start + len(piece))


def send_file(
    connected: Connected, source: int, start: int, length: int, note: Note | None = None
) -> None:
    """Sends a part of a file, directly from the page cache; the part must exist."""
    if isinstance(connected, Encrypted):
        _send_file_encrypted(connected, source, start, length, note)
        return
    at_once = STRIDE if note is None else BUFFER  # a call returns when all of that has left
    done = 0
    while done < length:
        try:
            count = os.sendfile(
                connected.fileno(), source, start + done, min(length - done, at_once)
            )
        except OSError as error:
            raise broken(error) from None
        if not count:
            raise BrokenError("a file became shorter while it was sent")
        done += count
        if note is not None:
            note(done)


def _send_file_encrypted(
    connected: Encrypted, source: int, start: int, length: int, note: Note | None
) -> None:
    buffer = memoryview(bytearray(min(PIECE, length)))
    done = 0
    while done < length:
        count = os.preadv(source, [buffer[: length - done]], start + done)
        if not count:
            raise BrokenError("a file became shorter while it was sent")
        send(connected, buffer[:count])
        done += count
        if note is not None:
            note(done)


def _pieces(source: Connected, length: int) -> Iterator[memoryview]:
    """The next bytes of a connection, through memory that is used again for each piece."""
    buffer = memoryview(bytearray(min(PIECE, length)))
    while length:
        piece = buffer[:length]
        count = receive_into(source, piece)
        if count < len(piece):
            raise BrokenError("the stream was cut off")
        yield piece
        length -= count


def _bare(connected: Connected) -> socket.socket:
    return connected.socket if isinstance(connected, Encrypted) else connected


def broken(error: OSError) -> BrokenError:
    """Converts the error of a failed socket call."""
    if isinstance(error, BlockingIOError):
        return StalledError("the other side stalls")
    return BrokenError(f"the connection broke: {error.strerror}")


_SET_PIPE_SIZE: Final = getattr(fcntl, "F_SETPIPE_SZ", 1031)


class _Pipe:
    """The pipe that splice needs between two descriptors."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        try:
            self._size = fcntl.fcntl(self._writer, _SET_PIPE_SIZE, BUFFER)
        except PermissionError:  # the user's limit for pipes is reached; a small pipe is slower
            self._size = 64 * 1024

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reader)
        os.close(self._writer)

    def move(self, source: int, target: int, most: int, offset: int | None) -> int:
        """Moves available bytes; returns how many. A problem of the target raises plain OSError."""
        try:
            count = os.splice(source, self._writer, min(most, self._size))
        except OSError as error:
            raise broken(error) from None
        if not count:
            raise BrokenError("the stream was cut off")
        left = count
        while left:
            moved = os.splice(
                self._reader, target, left, offset_dst=None if offset is None else offset
            )
            left -= moved
            if offset is not None:
                offset += moved
        return count
