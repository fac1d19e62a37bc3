"""Whole objects are read from their holders, piece by piece and in order."""

import os
from collections.abc import Awaitable, Callable

import outcome
import pytest
import trio
import trio.testing

from rain.base.ids import ObjectId
from rain.base.wire import PIECE, SERVER
from rain.rpc import host
from rain.rpc.data_endpoint import listen_data
from rain.rpc.data_reader import DataReader, NotHereError, UnreachableError
from rain.rpc.listener import Listener
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeServer, FakeStore
from tests.support.waiting import turns_of_the_host, until

OBJECT = ObjectId(10)
Scene = Callable[[DataReader, Listener, FakeStore], Awaitable[None]]


def play(objects: dict[ObjectId, bytes], scene: Scene, idle: float = 10) -> FakeStore:
    store = FakeStore(objects)

    async def main() -> int:
        listener = listen_data("127.0.0.1", 0, store)
        reader = DataReader("127.0.0.1:1", idle)
        with trio.fail_after(60):
            await scene(reader, listener, store)
        reader.close()
        listener.close()
        return 0

    host.run(main)
    return store


class Collected:
    """A sink that checks the order."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.totals: set[int] = set()
        self.calls = 0

    def __call__(self, offset: int, piece: bytes, total: int) -> None:
        assert offset == len(self.data)
        self.data += piece
        self.totals.add(total)
        self.calls += 1


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE, 9 * PIECE + 7])
def test_an_object_of_any_length_is_read_whole(size: int) -> None:
    data = os.urandom(size)

    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        sink = Collected()
        assert await reader.read(listener.address, OBJECT, sink) == size
        assert sink.data == data
        assert sink.totals == {size}

    store = play({OBJECT: data}, scene)
    assert store.reads == max(1, -(-size // PIECE))


def test_an_object_that_is_not_there_is_named() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        with pytest.raises(NotHereError, match=f"{listener.address} does not have 0/10"):
            await reader.read(listener.address, OBJECT, Collected())

    play({}, scene)


def test_a_holder_that_is_not_there_is_named_and_may_come_back() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        listener.close()
        await turns_of_the_host()
        for _ in range(2):
            with pytest.raises(UnreachableError, match=f"{listener.address}: Connection refused"):
                await reader.read(listener.address, OBJECT, Collected())
        again = listen_data("127.0.0.1", listener.port, store)
        assert await reader.read(listener.address, OBJECT, Collected()) == 3
        again.close()

    play({OBJECT: b"abc"}, scene)


def test_an_address_that_is_none_is_named() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        with pytest.raises(UnreachableError, match="'nonsense' is not an address"):
            await reader.read("nonsense", OBJECT, Collected())

    play({}, scene)


def test_what_only_the_server_holds_is_read_from_the_server() -> None:
    data = os.urandom(3 * PIECE)

    async def main() -> int:
        server = FakeServer(own={OBJECT: data})
        listener = listen("127.0.0.1", 0, server)
        reader = DataReader(listener.address)
        sink = Collected()
        with trio.fail_after(60):
            await reader.read(SERVER, OBJECT, sink)
        assert sink.data == data
        reader.close()
        listener.close()
        return 0

    host.run(main)


def test_readers_share_one_connection_which_closes_when_it_is_idle() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(reader.read, listener.address, OBJECT, Collected())
        assert listener.accepted == 1
        await until(lambda: not listener.open_connections)
        await reader.read(listener.address, OBJECT, Collected())
        assert listener.accepted == 2

    play({OBJECT: bytes(2 * PIECE)}, scene, idle=0.02)


def test_a_holder_that_goes_while_it_is_read_is_unreachable() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        def sink(offset: int, piece: bytes, total: int) -> None:
            listener.close()

        with pytest.raises(UnreachableError, match=listener.address):
            await reader.read(listener.address, OBJECT, sink)

    play({OBJECT: bytes(20 * PIECE)}, scene)


def test_an_object_that_changes_while_it_is_read_is_not_taken() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        def sink(offset: int, piece: bytes, total: int) -> None:
            store.objects[OBJECT] = bytes(7 * PIECE)

        with pytest.raises(UnreachableError, match="changed while it was read"):
            await reader.read(listener.address, OBJECT, sink)

    play({OBJECT: bytes(20 * PIECE)}, scene)


def test_what_the_sink_raises_ends_the_reading_alone() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        def full(offset: int, piece: bytes, total: int) -> None:
            raise OSError(28, "No space left on device")

        with pytest.raises(OSError, match="No space left"):
            await reader.read(listener.address, OBJECT, full)
        assert await reader.read(listener.address, OBJECT, Collected()) == 5 * PIECE

    play({OBJECT: bytes(5 * PIECE)}, scene)


def test_plain_functions_start_a_reading_and_are_told_its_end() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        bell = host.Bell()
        ends: list[outcome.Outcome[int]] = []

        def done(end: outcome.Outcome[int]) -> None:
            ends.append(end)
            bell.ring()

        sink = Collected()
        reader.start(listener.address, OBJECT, sink, done)
        await bell.wait()
        assert ends.pop().unwrap() == len(sink.data) == 2 * PIECE
        reader.start(listener.address, ObjectId(11), sink, done)
        await bell.wait()
        with pytest.raises(NotHereError):
            ends.pop().unwrap()

    play({OBJECT: bytes(2 * PIECE)}, scene)


def test_a_cancelled_reading_calls_nobody() -> None:
    calls: list[object] = []

    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        reading = reader.start(listener.address, OBJECT, Collected(), calls.append)
        reading.cancel()
        await reader.read(listener.address, OBJECT, Collected())
        assert calls == []

    play({OBJECT: b"abc"}, scene)


def test_closing_the_reader_ends_what_is_on_its_way() -> None:
    async def scene(reader: DataReader, listener: Listener, store: FakeStore) -> None:
        async with trio.open_nursery() as nursery:

            async def read() -> None:
                with pytest.raises(UnreachableError):
                    await reader.read(listener.address, OBJECT, Collected())

            nursery.start_soon(read)
            nursery.start_soon(read)
            await trio.testing.wait_all_tasks_blocked()
            reader.close()

    play({OBJECT: bytes(50 * PIECE)}, scene)
