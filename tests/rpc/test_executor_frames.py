"""Frames are cut out of a stream, and travel over sockets."""

import socket
from collections.abc import Awaitable, Callable

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from rain.base.errors import InvariantError, ProtocolError
from rain.daemon import program
from rain.rpc.background import Background
from rain.rpc.executor_frames import FrameParser, SocketLink
from tests.support.bell import Bell


def framed(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4, "little") + frame for frame in frames)


@given(st.lists(st.binary(max_size=20), max_size=8), st.data())
def test_frames_come_out_wherever_the_stream_was_cut(
    frames: list[bytes], data: st.DataObject
) -> None:
    # given: the frames as one stream, cut anywhere
    stream = framed(*frames)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6).map(sorted))
    parser = FrameParser()

    # when
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += parser.feed(stream[start:end])

    # then
    assert found == frames
    assert not parser.in_piece


@given(st.binary(min_size=1, max_size=20), st.data())
def test_a_stream_that_ends_in_a_frame_is_noticed(frame: bytes, data: st.DataObject) -> None:
    stream = framed(frame)
    parser = FrameParser()
    assert parser.feed(stream[: data.draw(st.integers(1, len(stream) - 1))]) == []
    assert parser.in_piece


def test_a_frame_over_the_limit_is_the_senders_fault() -> None:
    parser = FrameParser(limit=10)
    assert parser.feed(framed(b"0123456789")) == [b"0123456789"]
    with pytest.raises(ProtocolError, match="11 bytes; the limit is 10"):
        parser.feed(framed(b"0123456789a"))


class End:
    """One end of a connection under test, and what it has seen."""

    def __init__(
        self, connected: socket.socket, background: Background, limit: int = 1 << 28
    ) -> None:
        self.batches: list[list[bytes]] = []
        self.causes: list[str] = []
        self.bell = Bell()
        self.link = SocketLink(connected, background, self.on_frames, self.on_closed, limit)

    def on_frames(self, frames: list[bytes]) -> None:
        self.batches.append(frames)
        self.bell.ring()

    def on_closed(self, cause: str) -> None:
        self.causes.append(cause)
        self.bell.ring()

    @property
    def frames(self) -> list[bytes]:
        return [frame for batch in self.batches for frame in batch]

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self.bell.wait()


def run(scene: Callable[[Background], Awaitable[None]]) -> None:
    """Runs a scene; what works in the background ends with it."""

    async def main() -> int:
        async with trio.open_nursery() as nursery:
            await scene(Background(nursery))
            nursery.cancel_scope.cancel()
        return 0

    program.run(main)


def test_what_is_said_in_one_turn_arrives_as_one_list() -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        left, right = End(ours, background), End(theirs, background)
        left.link.send(b"one")
        left.link.send(b"two")
        await right.until(lambda: bool(right.batches))
        assert right.batches == [[b"one", b"two"]]
        right.link.send(b"back")
        await left.until(lambda: bool(left.batches))
        assert left.frames == [b"back"]
        left.link.close()
        await right.until(lambda: bool(right.causes))
        assert right.causes == ["closed by the other side"]
        assert left.causes == []
        assert not left.link.is_open
        assert not right.link.is_open

    run(scene)


def test_frames_larger_than_the_sockets_buffer_arrive_in_order() -> None:
    large = [bytes([number]) * 3_000_000 for number in range(3)]

    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        left, right = End(ours, background), End(theirs, background)
        left.link.send(large[0])
        await trio.lowlevel.checkpoint()
        left.link.send(large[1])
        left.link.send(large[2])
        left.link.send(b"end")
        await right.until(lambda: len(right.frames) == 4)
        assert right.frames == [*large, b"end"]
        left.link.send(b"after")
        await right.until(lambda: len(right.frames) == 5)
        right.link.close()
        left.link.close()

    run(scene)


def test_a_frame_leaves_where_it_is_said() -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.setblocking(False)
            left = End(ours, background)
            left.link.send(b"one")
            assert theirs.recv(100) == framed(b"one")
            with pytest.raises(ValueError, match="the limit is"):
                left.link.send(bytes((1 << 28) + 1))
            left.link.close()
            left.link.send(b"never")
            assert theirs.recv(100) == b""

    run(scene)


def test_what_the_socket_does_not_take_at_once_follows_in_order() -> None:
    large = [bytes([number]) * 3_000_000 for number in range(2)]

    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        left, right = End(ours, background), End(theirs, background)
        left.link.send(large[0])
        assert len(theirs.recv(3_000_000, socket.MSG_PEEK)) < 3_000_000
        left.link.send(b"small")
        left.link.send(b"said")
        left.link.send(large[1])
        await right.until(lambda: len(right.frames) == 4)
        assert right.frames == [large[0], b"small", b"said", large[1]]
        right.link.close()
        left.link.close()

    run(scene)


def test_what_was_said_before_close_still_leaves() -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        left, right = End(ours, background), End(theirs, background)
        left.link.send(b"stop")
        left.link.close()
        left.link.send(b"never")
        await right.until(lambda: bool(right.causes))
        assert right.frames == [b"stop"]

    run(scene)


def test_the_last_words_of_the_other_side_are_heard_although_it_listens_no_more() -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        left = End(ours, background)
        theirs.send(framed(b"last words"))
        theirs.close()
        left.link.send(b"hello?")
        await left.until(lambda: bool(left.causes))
        assert left.frames == [b"last words"]

    run(scene)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (framed(b"0123456789abc"), "a frame of 13 bytes; the limit is 10"),
        (framed(b"abc")[:-1], "closed in the middle of a frame"),
        (b"", "closed by the other side"),
    ],
)
def test_a_link_ends_once_with_its_cause(said: bytes, cause: str) -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        left = End(ours, background, limit=10)
        theirs.send(said)
        theirs.close()
        await left.until(lambda: bool(left.causes))
        assert left.causes == [cause]

    run(scene)


def test_our_own_mistake_in_a_callback_ends_the_program() -> None:
    def broken(frames: list[bytes]) -> None:
        raise InvariantError("two owners")

    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        link = SocketLink(ours, background, broken, print)
        theirs.send(framed(b"x"))
        try:
            await trio.sleep_forever()
        finally:
            link.close()
            theirs.close()

    with pytest.raises(InvariantError, match="two owners"):
        run(scene)


def test_a_frame_over_the_limit_is_not_sent() -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            link = SocketLink(ours, background, print, print, limit=10)
            with pytest.raises(ValueError, match="the limit is 10"):
                link.send(b"0123456789a")
            link.close()

    run(scene)


def test_a_watch_calls_back_until_it_is_stopped() -> None:
    async def scene(background: Background) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            bell = Bell()
            calls: list[bytes] = []

            def readable() -> None:
                calls.append(ours.recv(10))
                bell.ring()

            watch = background.watch(ours.fileno(), readable)
            theirs.send(b"one")
            await bell.wait()
            watch.stop()
            theirs.send(b"two")
            await wait_all_tasks_blocked()
            assert calls == [b"one"]

    run(scene)
