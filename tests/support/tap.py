"""A tap on a connection: passes all bytes on, and counts the messages among them.

Signs of life are counted, too: tests that count leave room for them.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections import Counter
from types import TracebackType
from typing import Self

from rain.base.admission import HELLO, MAGIC

WORD = 8
SEGMENT_WORD = 4
PIECE = 1 << 20

THERE, BACK = len(MAGIC) + HELLO, 1
"""What both sides say before their first message, where no secret is asked for."""


class MessageCounter:
    """Finds the ends of messages in a stream of bytes.

    A message begins with the number of its segments less one, and the length of each in words; both
    take four bytes, and all of that is filled up to whole words.
    """

    def __init__(self, introduction: int = 0) -> None:
        self.messages = 0
        self.bytes = 0
        self._introduction = introduction  # bytes that come before the first message
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        self.bytes += len(piece)
        introduction = min(self._introduction, len(piece))
        self._introduction -= introduction
        rest = self._rest + piece[introduction:]
        start = 0
        while (length := _message_length(rest, start)) is not None and start + length <= len(rest):
            self.messages += 1
            start += length
        self._rest = rest[start:]


def _message_length(data: bytes, start: int) -> int | None:
    """The length of the message that begins there; None while its header is not complete."""
    if len(data) - start < SEGMENT_WORD:
        return None
    segments = _number(data, start) + 1
    header = (SEGMENT_WORD * (segments + 1) + WORD - 1) // WORD * WORD
    if len(data) - start < header:
        return None
    words = sum(
        _number(data, at)
        for at in range(start + SEGMENT_WORD, start + SEGMENT_WORD * (segments + 1), SEGMENT_WORD)
    )
    return header + WORD * words


def _number(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + SEGMENT_WORD], "little")


class Tap:
    """Listens, and connects everybody who comes with the address behind it."""

    def __init__(self, behind: str) -> None:
        host, _, port = behind.rpartition(":")
        self._behind = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._woken, self._waker = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._peers: dict[socket.socket, tuple[socket.socket, MessageCounter]] = {}
        self._there: list[MessageCounter] = []  # towards the address, one for each connection
        self._back: list[MessageCounter] = []
        self._thread = threading.Thread(target=self._run, name="tap")

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def open_count(self) -> int:
        """How many sockets are passed on from."""
        return len(self._peers)

    def seen(self) -> Counter[str]:
        """Messages and bytes of both directions so far."""
        ways = {"there": self._there, "back": self._back}
        return Counter(
            {f"messages {way}": sum(one.messages for one in all_) for way, all_ in ways.items()}
            | {f"bytes {way}": sum(one.bytes for one in all_) for way, all_ in ways.items()}
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._waker.send(b"!")
        self._thread.join()
        self.close()

    def close(self) -> None:
        """Lets go of all sockets."""
        for one in (*self._peers, self._listener, self._woken, self._waker):
            one.close()
        self._selector.close()

    def _run(self) -> None:
        while self.step():
            pass

    def step(self) -> bool:
        """Passes on what is found with one look; whether there shall be another one."""
        for key, _ in self._selector.select():
            ready = key.fileobj
            assert isinstance(ready, socket.socket)
            if ready is self._woken:
                return False
            if ready is self._listener:
                self._connect()
            elif ready in self._peers:  # else it was closed with its peer, which was found before
                self._pass_on(ready)
        return True

    def _connect(self) -> None:
        caller, _ = self._listener.accept()
        called = socket.create_connection(self._behind)
        there, back = MessageCounter(THERE), MessageCounter(BACK)
        self._there.append(there)
        self._back.append(back)
        for one, other, counter in ((caller, called, there), (called, caller, back)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[one] = (other, counter)
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, one: socket.socket) -> None:
        other, counter = self._peers[one]
        try:
            piece = one.recv(PIECE)
            other.sendall(piece)
        except OSError:
            piece = b""
        if piece:
            counter.feed(piece)
            return
        for end in (one, other):
            if self._peers.pop(end, None) is not None:
                self._selector.unregister(end)
                end.close()
