"""Sends, receives and relays bodies in blocks, which are compressed where that pays.

The reader of a body always gets the uncompressed bytes: offsets, lengths and progress are those of
the object. A block has one checksum, so no byte of a damaged block is passed on.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import evolve

from rain.base.errors import ProtocolError
from rain.stream import sockets
from rain.stream.bodies import Body
from rain.stream.host_links import HostLink
from rain.stream.packing import BLOCK, HEADER_SIZE, Packing, Segment
from rain.stream.protocol import StreamAnswer
from rain.stream.sockets import BrokenError, Connected, InBlocks, Incoming, Note
from rain.tls.encrypted import Encrypted

if TYPE_CHECKING:
    from zstandard import ZstdCompressor, ZstdDecompressor

LEVEL = 1
"""Of zstd: the next ones need twice the time for a few percent."""

_NOT_SENT = 0x894B  # SIOCOUTQNSD, which the standard library does not name


def _compressor() -> ZstdCompressor:
    import zstandard  # noqa: PLC0415 # most programs never compress anything

    return zstandard.ZstdCompressor(LEVEL, write_checksum=True)


def _decompressor() -> ZstdDecompressor:
    import zstandard  # noqa: PLC0415 # the same

    return zstandard.ZstdDecompressor()


def unpacked(data: bytes, length: int, decompressor: ZstdDecompressor) -> bytes:
    """The bytes of a block; ProtocolError if they are not `length` unharmed bytes."""
    import zstandard  # noqa: PLC0415 # the same

    try:
        said = zstandard.get_frame_parameters(data).content_size
        if said != length:  # it is as much memory as the library would take
            raise ProtocolError(f"a stream sends a block of {said} bytes as one of {length}")
        plain = decompressor.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ProtocolError(f"a stream sends a damaged block: {error}") from None
    if len(plain) != length:
        raise ProtocolError(f"a stream sends a block of {len(plain)} bytes as one of {length}")
    return plain


class SendingBlocks:
    """Sends bodies, one after the other: the answers to one request."""

    def __init__(
        self, connected: Connected, link: HostLink, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connected = connected
        self._link = link
        self._gauge = link.gauge()
        self._packing = Packing(self._gauge)
        self._clock = clock
        self._idled = False  # whether the link had nothing to do while a block was compressed
        self._compressor: ZstdCompressor | None = None
        self._buffer = memoryview(b"")
        self.sent = 0  # bytes on the link
        self.packed = 0  # bytes of the object that were compressed
        self.seconds = 0.0  # of a processor, for compressing

    def send(self, body: Body, note: Note | None = None) -> None:
        """Sends the body of one answer."""
        waiting = _waiting(self._connected)
        if not self.sent or not waiting:  # else the link is at work since the last look
            self._gauge.begin(self._clock(), self.sent)
        done, sent, packed, seconds = 0, self.sent, self.packed, self.seconds
        length = body.length
        try:
            while done < length:
                left = length - done
                self._idled = False
                plain = min(left, self._packing.plain())
                if plain:
                    if self._gauge.idles:  # that time says nothing of how fast these bytes leave
                        self._gauge.begin(self._clock(), self.sent - _waiting(self._connected))
                    self._plain(body, done, plain, _from(done, note))
                    done += plain
                else:
                    done += self._block(body, done, min(left, BLOCK))
                if note is not None:
                    note(done)
                waiting = _waiting(self._connected)
                self._gauge.look(self._clock(), self.sent, waiting, idled=self._idled)
        finally:
            on_link, compressed = self.sent - sent, self.packed - packed
            self._link.add(self._gauge.rate, done, on_link, compressed, self.seconds - seconds)

    def _plain(self, body: Body, start: int, length: int, note: Note | None) -> None:
        sockets.send(self._connected, Segment(length).encode())
        body.send(self._connected, start, length, note)
        self.sent += HEADER_SIZE + length

    def _block(self, body: Body, start: int, length: int) -> int:
        """Sends a block compressed; how many bytes: none if that is not worth it."""
        if self._compressor is None:
            self._compressor = _compressor()
            self._buffer = memoryview(bytearray(BLOCK))
        block = self._buffer[:length]
        body.fill(block, start)
        began, used = self._clock(), time.thread_time()
        data = self._compressor.compress(block)
        self.seconds += time.thread_time() - used
        # Asked before the block is sent: behind it something waits on any link.
        self._idled = not _unsent(self._connected)
        segment = Segment(length, len(data) if len(data) < length else 0)
        if not self._packing.takes(segment, self._clock() - began):
            return 0
        sockets.send(self._connected, segment.encode() + data)
        self.sent += HEADER_SIZE + len(data)
        self.packed += length
        return length


def _from(start: int, note: Note | None) -> Note | None:
    """Tells of bytes behind a place."""
    if note is None:
        return None

    def tell(moved: int) -> None:
        note(start + moved)

    return tell


def _waiting(connected: Connected) -> int:
    """Bytes that the kernel has, and that the other side has not acknowledged."""
    return _count(connected, termios.TIOCOUTQ)


def _unsent(connected: Connected) -> int:
    """Bytes that the kernel has, and that have not left."""
    return _count(connected, _NOT_SENT)


def _count(connected: Connected, what: int) -> int:
    bare = connected.socket if isinstance(connected, Encrypted) else connected
    (count,) = struct.unpack("i", fcntl.ioctl(bare, what, bytes(4)))
    return int(count)


class Unpacking(InBlocks):
    """The bytes of a body that comes in blocks."""

    def __init__(self, connected: Connected, length: int) -> None:
        self._connected = connected
        self._left = length  # behind the segment that is being received
        self._as_they_are: int = 0  # bytes of that which come as they are
        self._block = memoryview(b"")  # unpacked, and not handed on
        self._decompressor: ZstdDecompressor | None = None

    def recv_into(self, target: memoryview, /) -> int:
        self._next()
        if self._block:
            count = min(len(self._block), len(target))
            target[:count] = self._block[:count]
            self._block = self._block[count:]
            return count
        if not self._as_they_are:
            return 0
        received: int = self._connected.recv_into(target[: self._as_they_are])
        self._as_they_are -= received
        return received

    def into_file(self, target: int, length: int, start: int, note: Note | None) -> None:
        done = start
        while done < length:
            self._next()
            if self._as_they_are:
                end = min(length, done + self._as_they_are)
                sockets.receive_file(self._connected, target, end, done, note)
                self._as_they_are -= end - done
                done = end
                continue
            if not self._block:
                raise BrokenError("the stream was cut off")
            while self._block and done < length:
                count = os.pwrite(target, self._block[: length - done], done)
                self._block = self._block[count:]
                done += count
            if note is not None:
                note(done)

    def _next(self) -> None:
        """Begins the next segment if nothing is left of this one."""
        if self._as_they_are or self._block or not self._left:
            return
        segment = _receive_segment(self._connected, self._left)
        self._left -= segment.length
        if not segment.packed:
            self._as_they_are = segment.length
            return
        data = bytearray(segment.packed)
        if sockets.receive_into(self._connected, memoryview(data)) < segment.packed:
            raise BrokenError("the stream was cut off")
        if self._decompressor is None:
            self._decompressor = _decompressor()
        self._block = memoryview(unpacked(bytes(data), segment.length, self._decompressor))


def answer_with(
    connected: Connected, answer: StreamAnswer, body: Body, link: HostLink | None
) -> SendingBlocks | None:
    """Sends an answer and its body; in blocks if there is a link for that."""
    sockets.send(connected, evolve(answer, blocks=link is not None).encode())
    if link is None:
        body.send(connected, 0, body.length)
        return None
    sending = SendingBlocks(connected, link)
    sending.send(body)
    return sending


def body_of(connected: Connected, answer: StreamAnswer) -> Incoming:
    """From where the bytes of an answer come."""
    return Unpacking(connected, answer.length) if answer.blocks else connected


def pass_on_blocks(source: Connected, target: Connected, length: int) -> None:
    """Passes a body on as it comes: a relay compresses nothing, and unpacks nothing."""
    while length:
        segment = _receive_segment(source, length)
        sockets.send(target, segment.encode())
        sockets.pass_on(source, target, segment.follows)
        length -= segment.length


def _receive_segment(connected: Connected, left: int) -> Segment:
    return Segment.decode(sockets.receive_rest(connected, HEADER_SIZE), left)
