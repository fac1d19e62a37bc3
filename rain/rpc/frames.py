"""Frames over a stream socket, straight in the host loop.

A frame is its length, four bytes with the lowest first, and so many bytes. This is the framing of
executors. The governor exchanges two frames with an executor for every task, so nothing here waits
and no task of trio is woken: whatever one readiness of the socket brought is handed over as one
list of frames, and all that was said in one turn of the loop leaves with one `send`; `send_now` is
for the one frame that a turn has for an executor. All of it belongs to the thread of the loop, so
there is no lock.
"""

import socket
from collections.abc import Callable

from rain.base.errors import ProtocolError
from rain.rpc.sequel import running_loop

HEADER = 4
FRAME_LIMIT = 256 * 1024 * 1024
READ_SIZE = 64 * 1024
"""More than that costs new pages of the system, however little has come."""

CLOSED = "closed by the other side"
"""The cause of an end that breaks no rule."""


class FrameParser:
    """Cuts a stream of bytes into frames, wherever the chunks were cut. Pure."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._rest = bytearray()  # the beginning of a frame that is not complete yet
        self._needed: int = HEADER  # how long `rest` must be before looking at it makes sense

    @property
    def in_frame(self) -> bool:
        """Whether the stream would end in the middle of a frame."""
        return bool(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that are complete with this chunk."""
        if self._rest:
            self._rest += chunk
            if len(self._rest) < self._needed:
                return []
            chunk = bytes(self._rest)
            self._rest.clear()
        frames: list[bytes] = []
        start, end = 0, len(chunk)
        needed = HEADER
        while end - start >= HEADER:
            length = int.from_bytes(chunk[start : start + HEADER], "little")
            if length > self._limit:
                raise ProtocolError(f"a frame of {length} bytes; the limit is {self._limit}")
            needed = HEADER + length
            if end - start < needed:
                break
            frames.append(chunk[start + HEADER : start + needed])
            start += needed
            needed = HEADER
        if start < end:
            self._rest += chunk[start:]
        self._needed = needed
        return frames


class SocketLink:
    """Both directions of framed messages over one connected socket, which it owns.

    `on_frames` gets all frames of one readiness; `on_closed` is called once with the cause when the
    other side ends the link or breaks its rules, and not after `close`. Both are called in the
    host loop, and are ours: an exception there ends the program.
    """

    def __init__(
        self,
        connected: socket.socket,
        on_frames: Callable[[list[bytes]], object],
        on_closed: Callable[[str], object],
        limit: int = FRAME_LIMIT,
    ) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._on_frames = on_frames
        self._on_closed = on_closed
        self._limit = limit
        self._parser = FrameParser(limit)
        self._loop = running_loop()
        self._unsent = bytearray()  # what leaves behind this turn, or when the socket takes more
        self._flush_asked = False
        self._writing = False  # the loop tells when the socket takes more
        self.said = 0  # how many bytes until now, frames with their headers
        self._open = True
        self._loop.add_reader(connected, self._readable)

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def unsent(self) -> int:
        """How many bytes were said and not taken by the socket yet."""
        return len(self._unsent)

    def send(self, *frames: bytes) -> None:
        """Sends frames with whatever else is said in this turn; nothing after the link's end."""
        if not self._open:
            return
        for frame in frames:
            piece = self._framed(frame)
            self.said += len(piece)
            self._unsent += piece
        if not self._flush_asked and not self._writing:
            self._flush_asked = True
            self._loop.follow(self._flush)

    def send_now(self, frame: bytes) -> int:
        """Sends a frame at once, behind all that was said, for whoever says only one in a turn.

        Gives where it ends: it has left when so much was said and is not unsent.
        """
        piece = self._framed(frame)
        end = self.said + len(piece)
        if not self._open:
            return end
        self.said = end
        if self._unsent:
            self._unsent += piece
            if not self._writing:
                self._advance()
            return end
        try:
            taken = self._socket.send(piece)
        except BlockingIOError:
            taken = 0
        except OSError:  # the other side has gone: its last words may still be unread
            return end
        if taken < len(piece):
            self._unsent += memoryview(piece)[taken:]
            self._await_room()
        return end

    def _framed(self, frame: bytes) -> bytes:
        if len(frame) > self._limit:
            raise ValueError(f"a frame of {len(frame)} bytes; the limit is {self._limit}")
        return len(frame).to_bytes(HEADER, "little") + frame

    def drain(self) -> None:
        """Takes in all that has arrived, when nothing more can come."""
        while self._open and self._readable():
            pass

    def close(self) -> None:
        """Ends the link; what the socket takes at once of what was said is still sent."""
        if self._open:
            self._advance()
            self._release()

    def _release(self) -> None:
        self._open = False
        self._loop.remove_reader(self._socket)
        if self._writing:
            self._loop.remove_writer(self._socket)
        self._socket.close()
        self._parser = FrameParser(self._limit)  # what had come, or waited, is nobody's any more
        self._unsent.clear()

    def _flush(self) -> None:
        self._flush_asked = False
        if self._open and not self._writing:
            self._advance()

    def _advance(self) -> None:
        """Sends what the socket takes, and asks to hear when it takes more."""
        unsent = self._unsent
        if not unsent:
            return
        try:
            taken = self._socket.send(unsent)
        except BlockingIOError:
            taken = 0
        except OSError:  # as above
            taken = len(unsent)
        del unsent[:taken]
        if unsent:
            self._await_room()

    def _await_room(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._writable)

    def _writable(self) -> None:
        self._advance()
        if not self._unsent:
            self._writing = False
            self._loop.remove_writer(self._socket)

    def _end(self, cause: str) -> None:
        if self._open:
            self._release()
            self._on_closed(cause)

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
            in_frame = self._parser.in_frame
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
