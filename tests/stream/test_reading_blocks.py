"""Readers ask for blocks, get them from another machine, and go on elsewhere behind a bad one."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import zstandard
from attrs import define

from rain.base.admission import MemberKind
from rain.base.ids import ObjectId
from rain.rpc.client_incoming import IntoMemory
from rain.stream.admission import accept_tls, admit, dial_tls, introduce
from rain.stream.blocks import Unpacking
from rain.stream.connections import Transfer
from rain.stream.errors import UnreachableError
from rain.stream.holder import UnfinishedUpload
from rain.stream.packing import IN_BLOCKS_FROM, Segment
from rain.stream.protocol import HELLO, REQUEST_SIZE, Ask, Say, StreamAnswer, StreamRequest
from rain.stream.reading import ask
from rain.stream.sockets import Connected, receive, receive_into, send
from rain.stream.staged import stage
from rain.stream.stamps import Stamp
from tests.stream.serving import A, Having, Listening, certificate, listening, reading

SIZE = 3 * IN_BLOCKS_FROM


def from_another_machine(there: Listening) -> Connected:
    """A connection whose ends have two addresses, as if on two machines."""
    bare = socket.create_connection(there.port.getsockname(), 20, ("127.0.0.2", 0))
    connected = dial_tls(bare, certificate(MemberKind.CLIENT), MemberKind.GOVERNOR, 20)
    introduce(connected, None)
    send(connected, HELLO)
    return connected


@pytest.mark.parametrize("size", [IN_BLOCKS_FROM, SIZE])
def test_blocks_come_to_another_machine_that_asks_for_them(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(bytes(size))
    with (
        listening(Having({A: tmp_path / "file"})) as there,
        closing(from_another_machine(there)) as connected,
    ):
        for asks in (True, False):
            answer = ask(connected, StreamRequest(Ask.READ, A, blocks=asks))
            assert (answer.say, answer.length, answer.blocks) == (Say.BYTES, size, asks)
            data = memoryview(bytearray(b"x" * size))
            assert receive_into(Unpacking(connected, size) if asks else connected, data) == size
            assert bytes(data) == bytes(size)


def test_a_small_object_and_one_of_the_same_machine_come_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(SIZE))
    with listening(Having({A: tmp_path / "file"})) as there:
        with closing(there.connect()) as connected:
            send(connected, HELLO)
            assert not ask(connected, StreamRequest(Ask.READ, A, blocks=True)).blocks
        (tmp_path / "file").write_bytes(bytes(IN_BLOCKS_FROM - 1))
        with closing(from_another_machine(there)) as connected:
            assert not ask(connected, StreamRequest(Ask.READ, A, blocks=True)).blocks


@define(eq=False)
class Taking(Having):
    """One that takes an upload into a file."""

    path: Path = Path()
    descriptor: int = -1
    is_complete: bool = False

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT)
        return self

    def complete(self) -> None:
        os.close(self.descriptor)
        self.is_complete = True

    def abandon(self) -> None:
        os.close(self.descriptor)


@pytest.mark.parametrize(("host", "blocks"), [("127.0.0.2", True), ("127.0.0.1", False)])
def test_an_upload_to_another_machine_goes_in_blocks(
    tmp_path: Path, host: str, blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Segment] = []
    monkeypatch.setattr(Segment, "encode", _noting(Segment.encode, runs))
    data = stage("", [b"a line\n" * 1_000_000])
    assert data is not None
    taking, notes = Taking(path=tmp_path / "file"), [0]
    with listening(taking, host=host) as there, reading(there.address) as reader:
        reader.upload(bytes(16), A, data, notes.append)
        assert taking.is_complete
        assert (tmp_path / "file").read_bytes() == bytes(data.view())
    assert bool(runs) == blocks
    assert sum(run.length for run in runs) == (len(data) if blocks else 0)
    assert notes == sorted(notes)
    assert notes[-1] == len(data)


def _noting(encode: Callable[[Segment], bytes], runs: list[Segment]) -> Callable[[Segment], bytes]:
    def noting(run: Segment) -> bytes:
        runs.append(run)
        return encode(run)

    return noting


@contextmanager
def sending_a_bad_block(stamp: Stamp, good: bytes) -> Generator[str]:
    """A holder that gives the beginning of an object, and then a damaged block."""
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(bytes(1000)))
    packed[-1] ^= 1
    bad = Segment(1000, len(packed)).encode() + bytes(packed)
    with socket.create_server(("127.0.0.1", 0)) as port:

        def serve() -> None:
            accepted, _ = port.accept()
            with closing(accept_tls(accepted, certificate(MemberKind.GOVERNOR))) as connected:
                admit(connected, None)
                receive(connected, len(HELLO) + REQUEST_SIZE)
                answer = StreamAnswer(Say.BYTES, stamp.length, stamp.spell(), blocks=True)
                send(connected, answer.encode() + Segment(len(good)).encode() + good + bad)
                receive(connected, 1)  # until the reader has left

        thread = threading.Thread(target=serve)
        thread.start()
        host, number = port.getsockname()
        yield f"{host}:{number}"
        thread.join()


def test_behind_a_damaged_block_another_holder_goes_on_from_where_it_was(tmp_path: Path) -> None:
    data = os.urandom(SIZE)
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb") as file:
        stamp = Stamp.of(file.fileno())
    begun = SIZE // 2
    with listening(Having({A: tmp_path / "file"})) as there, reading() as reader:
        taker = IntoMemory()
        with closing(taker):
            with (
                sending_a_bad_block(stamp, data[:begun]) as bad,
                pytest.raises(UnreachableError, match="damaged block"),
            ):
                reader.read_on(bad, A, taker, Transfer(), 10)
            assert taker.has == (begun, stamp)
            reader.read_on(there.address, A, taker, Transfer(), 10)
            assert bytes(taker.data) == data
            assert reader.received == SIZE - begun
