"""Streams write once for a turn, read only when they are wanted to, and end in order."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
import trio

from rain.rpc import host, loop
from rain.rpc.interleaved import Kind, Sorter, marked
from rain.rpc.loop import PAUSE_ABOVE, Stream
from tests.support.waiting import turns_of_the_host

CALL = b"\0\0\0\0\1\0\0\0" + b"a word.."  # one segment of one word


class Listening(asyncio.BufferedProtocol):
    """Keeps what happens to it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.data = bytearray()
        self._buffer = bytearray(1 << 16)
        self.bell = host.Bell()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.note("made")

    def connection_lost(self, exc: Exception | None) -> None:
        self.note(f"lost {type(exc).__name__}")

    def pause_writing(self) -> None:
        self.note("pause")

    def resume_writing(self) -> None:
        self.note("resume")

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data += self._buffer[:nbytes]
        self.bell.ring()

    def eof_received(self) -> None:
        self.note("eof")

    def note(self, what: str) -> None:
        self.seen.append(what)
        self.bell.ring()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self.bell.wait()


Scene = Callable[[Stream, Listening, socket.socket], Awaitable[None]]


def play(scene: Scene) -> list[str]:
    """Runs a scene with a stream and the plain socket at its other end."""
    seen: list[str] = []

    async def main() -> int:
        ours, theirs = socket.socketpair()
        with theirs:
            protocol = Listening()
            stream = Stream(ours, protocol)
            with trio.fail_after(30):
                await scene(stream, protocol, theirs)
            stream.abort()
            await turns_of_the_host()
        seen.extend(protocol.seen)
        return 0

    host.run(main)
    return seen


def test_what_is_said_in_a_turn_leaves_together() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        stream.write(b"one ")
        stream.write(bytearray(b"two "))
        stream.write(memoryview(b"three"))
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(100)
        await turns_of_the_host()
        assert theirs.recv(100) == b"one two three"

    assert play(scene) == ["made", "lost NoneType"]


def test_nothing_is_read_while_reading_is_paused() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        theirs.send(b"number one")
        await protocol.until(lambda: bytes(protocol.data) == b"number one")
        stream.pause_reading()
        theirs.send(b", two")
        await turns_of_the_host()
        assert bytes(protocol.data) == b"number one"
        assert not stream.is_reading()
        stream.resume_reading()
        await protocol.until(lambda: bytes(protocol.data) == b"number one, two")

    play(scene)


def test_a_writer_is_told_to_stop_and_to_go_on() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        data = bytes(range(256)) * (3 * PAUSE_ABOVE // 256)
        stream.write(data)
        assert protocol.seen[-1] == "pause"
        stream.write(b"end")
        received = bytearray()
        while not received.endswith(b"end"):
            received += await trio.to_thread.run_sync(theirs.recv, 1 << 20)
        assert received == data + b"end"
        await protocol.until(lambda: "resume" in protocol.seen)
        assert stream.get_write_buffer_size() == 0

    assert play(scene) == ["made", "pause", "resume", "lost NoneType"]


def test_a_writer_goes_on_when_the_socket_has_taken_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "PAUSE_ABOVE", 10)
    monkeypatch.setattr(loop, "RESUME_BELOW", 5)

    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        stream.write(CALL)
        await protocol.until(lambda: "resume" in protocol.seen)
        assert theirs.recv(100) == CALL

    assert play(scene) == ["made", "pause", "resume", "lost NoneType"]


def test_closing_first_sends_what_was_said() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        many = CALL * (PAUSE_ABOVE // len(CALL) - 1)
        stream.write(many)
        stream.write(CALL)
        stream.close()
        stream.write(b"never")
        received = bytearray()
        while chunk := await trio.to_thread.run_sync(theirs.recv, 1 << 20):
            received += chunk
        assert received == many + CALL
        await protocol.until(lambda: "lost NoneType" in protocol.seen)

    assert play(scene) == ["made", "lost NoneType"]


def test_the_end_of_the_other_side_is_told_once() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        theirs.send(b"last words")
        theirs.close()
        stream.write(b"hello?")
        await protocol.until(lambda: "lost NoneType" in protocol.seen)
        assert bytes(protocol.data) == b"last words"
        assert stream.is_closing()

    assert play(scene) == ["made", "eof", "lost NoneType"]


def test_a_reset_is_told_with_its_error() -> None:
    async def main() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            ours = socket.create_connection(listening.getsockname())
            theirs, _ = listening.accept()
            protocol = Listening()
            stream = Stream(ours, protocol)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            theirs.close()
            with trio.fail_after(30):
                await protocol.until(lambda: "lost ConnectionResetError" in protocol.seen)
            assert stream.is_closing()
        return 0

    host.run(main)


def test_plain_messages_are_heard_though_calls_are_not_wanted() -> None:
    heard: list[tuple[Kind, bytes]] = []

    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        def hear(kind: Kind, content: bytes) -> None:
            heard.append((kind, content))
            protocol.bell.ring()

        stream.on_plain = hear
        stream.pause_reading()
        theirs.send(CALL + marked(Kind.MESSAGE, b"news") + CALL + marked(Kind.FAREWELL, b"bye"))
        await protocol.until(lambda: len(heard) == 2)
        assert not protocol.data
        stream.resume_reading()
        await protocol.until(lambda: bytes(protocol.data) == CALL + CALL)

    play(scene)
    assert heard == [(Kind.MESSAGE, b"news"), (Kind.FAREWELL, b"bye")]


def test_the_end_is_told_when_it_is_wanted_and_after_all_calls() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        stream.pause_reading()
        theirs.send(CALL + CALL[:5])
        theirs.close()
        await turns_of_the_host()
        assert protocol.seen == ["made"]
        stream.resume_reading()
        await protocol.until(lambda: "lost NoneType" in protocol.seen)
        assert bytes(protocol.data) == CALL + CALL[:5]

    assert play(scene) == ["made", "eof", "lost NoneType"]


def test_whoever_expects_no_plain_message_loses_the_other_side() -> None:
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        theirs.send(marked(Kind.MESSAGE, b"hello"))
        await protocol.until(lambda: "lost ConnectionError" in protocol.seen)

    play(scene)


def test_what_another_thread_says_keeps_its_order() -> None:
    # given: a socket that is full, and plain messages from a thread of their own
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        large = bytes(PAUSE_ABOVE)

        def say() -> None:
            for number in range(3):
                stream.say_now(large)
                stream.say_now(bytes([number]))

        await trio.to_thread.run_sync(say)
        stream.say(Kind.FAREWELL, b"bye")
        # when: the other side reads all of it
        sorter = Sorter()
        heard: list[tuple[Kind, bytes]] = []
        while not heard or heard[-1][0] is not Kind.FAREWELL:
            heard += sorter.feed(await trio.to_thread.run_sync(theirs.recv, 1 << 20))
        # then
        said = [content for number in range(3) for content in (large, bytes([number]))]
        assert heard == [*((Kind.MESSAGE, content) for content in said), (Kind.FAREWELL, b"bye")]
        assert stream.unsent == 0

    play(scene)


def test_a_plain_message_of_another_thread_waits_for_no_half_of_a_call_and_splits_none() -> None:
    # given: pycapnp writes the table of a call, and then its content
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        stream.write(CALL[:8])
        # when: another thread speaks in between
        await trio.to_thread.run_sync(stream.say_now, b"hello")
        stream.write(CALL[8:])
        await turns_of_the_host()
        # then
        assert theirs.recv(100) == marked(Kind.MESSAGE, b"hello") + CALL

    play(scene)


def test_a_plain_message_splits_no_call_whose_writer_was_told_to_stop() -> None:
    # given: a call of two large segments, and the writer stops after the first
    async def scene(stream: Stream, protocol: Listening, theirs: socket.socket) -> None:
        words = PAUSE_ABOVE // 8 + 1
        table = b"".join(n.to_bytes(4, "little") for n in (1, words, words, 0))
        segment = bytes(8 * words)
        stream.write(CALL * (PAUSE_ABOVE // len(CALL) + 1))
        assert protocol.seen[-1] == "pause"
        stream.write(table)
        stream.write(segment)
        # when
        stream.say(Kind.FAREWELL, b"bye")
        received = bytearray()
        while not received.endswith(b"bye"):
            received += await trio.to_thread.run_sync(theirs.recv, 1 << 20)
        stream.write(segment)
        # then
        assert received == CALL * (PAUSE_ABOVE // len(CALL) + 1) + marked(Kind.FAREWELL, b"bye")
        await turns_of_the_host()
        length = len(table) + 2 * len(segment)
        rest = await trio.to_thread.run_sync(theirs.recv, length, socket.MSG_WAITALL)
        assert rest == table + segment + segment

    play(scene)
