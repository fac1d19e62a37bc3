"""Data of governors that nobody can connect to: the server asks them to call back, and relays."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from rain.base.admission import MemberKind
from rain.base.errors import RefusedError
from rain.base.ids import GovernorId, ObjectId
from rain.base.leading import Servers
from rain.base.wire.orders import SERVER
from rain.stream.admission import accept_tls, admit
from rain.stream.calling_back import TICKET_BYTES, CallsBack
from rain.stream.connections import Transfer
from rain.stream.errors import NotHereError, NoWayError, UnreachableError
from rain.stream.holder import InFar
from rain.stream.part_reading import PartPieces
from rain.stream.parts import laid_out
from rain.stream.protocol import HELLO, REQUEST_SIZE, Ask, Say, StreamAnswer, StreamRequest
from rain.stream.ranges import Range
from rain.stream.reading import StreamReader, ask
from rain.stream.serving import StreamServer
from rain.stream.sockets import BrokenError, Connected, receive
from rain.stream.stamps import Stamp
from rain.tls.keys import Keys
from tests.stream.serving import ME, A, B, Having, Listening, certificate, listening, reading, way
from tests.support.no_threads import refused_threads
from tests.support.streams import Collected

NOWHERE = f"127.0.0.1:1#{ME}"
"""Where the governor of these tests says to be: nobody can connect to it there."""


@pytest.fixture(params=[False, True], ids=["open", "encrypted"], autouse=True)
def _encrypted(request: pytest.FixtureRequest) -> Generator[None]:
    way["encrypted"] = request.param
    yield
    way["encrypted"] = False


@define(eq=False)
class Hidden:
    """A governor that only calls back, and how often it was asked to."""

    streams: StreamServer
    calls: int = 0
    server: Listening | None = None

    def ask(self, incarnation: int, ticket: bytes) -> bool:
        assert incarnation == ME
        assert self.server is not None
        self.calls += 1
        caller = StreamReader(
            Servers.of(self.server.address), keys=Keys(identity=certificate(MemberKind.GOVERNOR))
        )
        self.streams.call_back(caller.connections.connect_to_server, GovernorId(ME), ticket)
        return True


@contextmanager
def hidden(
    having: Having, relayed: Mapping[int, tuple[str, ...]], limit: float = 20.0
) -> Generator[tuple[Hidden, Listening]]:
    """A governor and the server that relays what it has."""
    governor = Hidden(StreamServer(having))
    calls_back = CallsBack(governor.ask, limit)
    with listening(Having(elsewhere=dict(relayed)), calls_back=calls_back) as server:
        governor.server = server
        yield governor, server
        server.server.close()
    governor.streams.close()
    governor.streams.join()


def a_file(path: Path, size: int) -> Path:
    path.write_bytes(os.urandom(size))
    return path


def partitioned(*pieces: bytes) -> bytes:
    return b"".join(laid_out([[piece] for piece in pieces]))


def test_what_a_governor_has_that_cannot_be_connected_to_comes_through_the_server(
    tmp_path: Path,
) -> None:
    file = a_file(tmp_path / "file", 3_000_000)
    everywhere: dict[int, tuple[str, ...]] = {A: (NOWHERE,), B: (NOWHERE,)}
    with hidden(Having({A: file, B: b"small"}), everywhere) as (governor, server):
        with reading(server.address) as reader:
            taken = Collected()
            reader.read(SERVER, A, taken)
            assert taken.data == file.read_bytes()
            # the connection is used again
            small = Collected()
            reader.read(SERVER, B, small)
            assert small.data == b"small"
            piece = reader.read_range(SERVER, A, Range(1_000, 1_010))
            assert piece.data == file.read_bytes()[1_000:1_010]
        assert governor.calls == 1


def test_what_it_does_not_have_or_refuses_is_told_as_it_says_so() -> None:
    having = Having()
    with hidden(having, {A: (NOWHERE,)}) as (_, server), reading(server.address) as reader:
        with pytest.raises(NotHereError):
            reader.read(SERVER, A, Collected())
        having.contents[A] = b"x"
        with pytest.raises(RefusedError):
            reader.read_range(SERVER, A, Range(0, 1, "no/such/file"))


def test_the_rest_of_an_object_is_relayed_and_not_all_of_it(tmp_path: Path) -> None:
    file = a_file(tmp_path / "file", 100_000)
    with hidden(Having({A: file}), {A: (NOWHERE,)}) as (_, server):
        with file.open("rb") as stored:
            stamp = Stamp.of(stored.fileno())
        connected = server.connect()
        connected.sendall(b"RainData")
        rest = ask(connected, StreamRequest(Ask.READ_ON, A, 0, 99_000, stamp.encode()))
        assert (rest.say, rest.length) == (Say.BYTES, 1_000)
        connected.close()


def test_parts_of_a_shuffle_are_relayed(tmp_path: Path) -> None:
    large = os.urandom(2_000_000)
    (tmp_path / "parts").write_bytes(partitioned(b"a", large))
    having = Having({A: tmp_path / "parts", B: partitioned(b"c", b"d")})
    others = ("127.0.0.1:1#5", NOWHERE)
    with (
        hidden(having, {A: others, B: others}) as (_, server),
        reading(server.address) as reader,
    ):

        def ask_for(parts: PartPieces) -> None:
            def exchange(there: Connected, _: int, machine: bytes) -> None:
                parts.exchange(there, ME, machine)

            reader.exchange(SERVER, exchange, Transfer())

        parts = PartPieces(1, [A, B])
        ask_for(parts)
        assert [bytes(parts.pieces[one] or b"") for one in (A, B)] == [large, b"d"]
        with pytest.raises(NotHereError):
            ask_for(PartPieces(0, [A, ObjectId(9)]))
        with pytest.raises(RefusedError):
            ask_for(PartPieces(7, [A]))


def test_files_beside_parts_that_are_relayed_are_closed(tmp_path: Path) -> None:
    path = a_file(tmp_path / "here", 1_000)
    having = Having({B: path}, {A: (NOWHERE,)})
    with listening(having) as there, reading() as reader, pytest.raises(NotHereError):
        reader.exchange(
            there.address,
            lambda connected, _, machine: PartPieces(0, [A, B]).exchange(connected, ME, machine),
            Transfer(),
        )
    assert not descriptors_of(path)


def test_files_beside_far_ones_that_cannot_be_had_are_closed(tmp_path: Path) -> None:
    path = a_file(tmp_path / "here", 1_000)

    def broken(*_: int) -> Any:
        raise BrokenError("the far store does not answer")

    having = Having({A: path}, far={B: InFar(1, broken, broken, broken)})
    with listening(having) as there, reading() as reader, pytest.raises(UnreachableError):
        reader.exchange(
            there.address,
            lambda connected, _, machine: PartPieces(0, [A, B]).exchange(connected, ME, machine),
            Transfer(),
        )
    assert not descriptors_of(path)


def descriptors_of(path: Path) -> list[str]:
    """Those of this program that are open files at the path."""
    return [one.name for one in Path("/proc/self/fd").iterdir() if _leads_to(one, path)]


def _leads_to(descriptor: Path, path: Path) -> bool:
    try:
        return descriptor.readlink() == path
    except FileNotFoundError:  # that with which they are listed
        return False


def break_off(port: socket.socket, length: int) -> None:
    """A holder that sends half of an object, and ends."""
    bare, _ = port.accept()
    connected = accept_tls(bare, certificate(MemberKind.GOVERNOR))
    admit(connected, None)
    for size in (len(HELLO), REQUEST_SIZE):
        receive(connected, size)
    connected.sendall(StreamAnswer(Say.BYTES, length).encode() + bytes(length // 2))
    connected.close()


def test_a_relayed_answer_that_is_cut_off_is_never_mixed_with_that_of_another_holder(
    tmp_path: Path,
) -> None:
    file = a_file(tmp_path / "file", 1_000_000)
    with ExitStack() as stack:
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        cut = threading.Thread(target=break_off, args=(port, 1_000_000))
        cut.start()
        stack.callback(cut.join)
        other = stack.enter_context(listening(Having({A: file})))
        sources = (f"127.0.0.1:{port.getsockname()[1]}", other.address)
        server = stack.enter_context(listening(Having(elsewhere={A: sources})))
        reader = stack.enter_context(reading(server.address))
        with pytest.raises(UnreachableError):
            reader.read(SERVER, A, Collected())
        # and another reader gets it from the second one
        taken = Collected()
        port.close()
        reader.read(SERVER, A, taken)
        assert taken.data == file.read_bytes()


def test_a_governor_that_does_not_call_is_given_up() -> None:
    def nobody(_: int, __: bytes) -> bool:
        return True

    with pytest.raises(UnreachableError, match=r"has not called back within 0\.05 seconds"):
        CallsBack(nobody, 0.05).get(ME)
    with pytest.raises(UnreachableError, match="has left"):
        CallsBack(lambda _, __: False).get(ME)


def test_a_governor_without_a_thread_does_not_call_and_goes_on() -> None:
    def connect() -> Connected:
        raise AssertionError("there is no thread for it")

    server = StreamServer(Having())
    with refused_threads(lambda _: True) as refused:
        server.call_back(connect, GovernorId(ME), bytes(TICKET_BYTES))
    assert refused == ["rain-stream"]
    server.close()
    server.join()


def test_a_call_that_nobody_waits_for_is_closed() -> None:
    calls_back = CallsBack(lambda _, __: True)
    with listening(Having(), calls_back=calls_back) as server:
        connected = server.connect()
        connected.sendall(b"RainData" + StreamRequest(Ask.CALLED, A, ME, key=bytes(16)).encode())
        assert connected.recv(1) == b""
        connected.close()


def test_a_way_that_is_closed_is_remembered() -> None:
    with reading() as reader:
        for _ in range(2):
            with pytest.raises(NoWayError, match="Connection refused"):
                reader.read(NOWHERE, A, Collected())
        assert reader.connections.closed_ways() == {NOWHERE: "127.0.0.1:1: Connection refused"}
