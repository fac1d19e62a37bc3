"""Sends and receives the frames between a governor and its executors, over a stream socket.

A frame is a length of four bytes (little-endian), and then the content. A frame is sent at once, as
far as the socket takes it. All frames that arrive together are passed on as one list.
"""

import socket
from collections.abc import Callable

import trio

from rain.base.errors import ProtocolError
from rain.base.executor_protocol import HEADER
from rain.rpc.background import Background, DescriptorWatch
from rain.rpc.cutting import Cutter

FRAME_LIMIT = 256 * 1024 * 1024
READ_SIZE = 64 * 1024
"""For a larger buffer the system makes new pages each time, however little has come."""

CLOSED = "closed by the other side"
"""The cause of an end that breaks no rule."""


class FrameParser(Cutter):
    """Cuts a stream of bytes into the contents of frames."""

    skipped = HEADER

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        super().__init__(HEADER)
        self._limit = limit

    def _length(self, chunk: bytes, start: int) -> int:
        if len(chunk) - start < HEADER:
            return HEADER
        length = int.from_bytes(chunk[start : start + HEADER], "little")
        if length > self._limit:
            raise ProtocolError(f"a frame of {length} bytes; the limit is {self._limit}")
        return HEADER + length


def _nobody(_: object) -> None:
    """Ignores frames after the end."""


class SocketLink:
    """Both directions of framed messages over one connected socket, which it owns.

    `on_frames` gets all frames of one readiness; `on_closed` is called once with the cause when the
    other side ends the link or breaks its rules, and not after `close`. An exception in one of them
    is a bug of ours, and ends the program.
    """

    def __init__(
        self,
        connected: socket.socket,
        background: Background,
        on_frames: Callable[[list[bytes]], object],
        on_closed: Callable[[str], object],
        limit: int = FRAME_LIMIT,
    ) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._background = background
        self._on_frames = on_frames
        self._on_closed = on_closed
        self._limit = limit
        self._parser = FrameParser(limit)
        self._unsent = bytearray()  # leaves when the socket takes more
        self._writing = False  # a task waits for that
        self._open = True
        self._watch: DescriptorWatch = background.watch(connected.fileno(), self._readable)

    @property
    def is_open(self) -> bool:
        return self._open

    def send(self, frame: bytes) -> None:
        """Sends a frame behind all that was said; after the end of the link it sends nothing."""
        if len(frame) > self._limit:
            raise ValueError(f"a frame of {len(frame)} bytes; the limit is {self._limit}")
        if self._open:
            self._unsent += len(frame).to_bytes(HEADER, "little") + frame
            if not self._writing and self._push():
                self._writing = True
                self._background.start(self._write)

    def drain(self) -> None:
        """Takes in all that has arrived, when nothing more can come."""
        while self._open and self._readable():
            pass

    def close(self) -> None:
        """Ends the link; what the socket takes at once of what was said is still sent."""
        if self._open:
            self._push()
            self._release()

    def _release(self) -> None:
        self._open = False
        # Breaks the reference cycle with the owner, whose methods these are: the garbage collector
        # seldom runs in daemons.
        self._on_frames = self._on_closed = _nobody
        self._watch.stop()
        self._socket.close()
        self._parser = FrameParser(self._limit)  # what had come, or waited, is dropped
        self._unsent.clear()

    def _push(self) -> bool:
        """Sends what the socket takes; whether anything is left."""
        try:
            taken = self._socket.send(self._unsent)
        except BlockingIOError:
            taken = 0
        except OSError:  # the other side has gone: its last words may still be unread
            taken = len(self._unsent)
        del self._unsent[:taken]
        return bool(self._unsent)

    async def _write(self) -> None:
        try:
            while self._unsent:
                await trio.lowlevel.wait_writable(self._socket)
                self._push()
        except trio.ClosedResourceError:
            return
        finally:
            self._writing = False

    def _end(self, cause: str) -> None:
        if self._open:
            on_closed = self._on_closed
            self._release()
            on_closed(cause)

    def _readable(self) -> bool:
        """Takes in one piece; whether there may be more."""
        try:
            chunk = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return False
        except OSError as error:
            self._end(error.strerror or "the connection broke")
            return False
        if not chunk:
            in_frame = self._parser.in_piece
            self._end("closed in the middle of a frame" if in_frame else CLOSED)
            return False
        try:
            frames = self._parser.feed(chunk)
        except ProtocolError as error:
            self._end(str(error))
            return False
        if frames:
            self._on_frames(frames)
        return True
