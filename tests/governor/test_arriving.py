"""An object whose holder breaks off goes on from another one, from where it was."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog
import trio
from attrs import Factory, define

from rain.base.ids import GovernorId, KindId
from rain.base.kinds import ObjectKind
from rain.daemon import program
from rain.governor import fetch as fetch_module
from rain.governor.effects import FetchObject
from rain.governor.events import Event, FetchFailed, ObjectFetched
from rain.governor.fetch import Fetcher
from rain.governor.results import Stored
from rain.governor.store import MEMORY_LIMIT, Store
from rain.rpc.background import Background
from rain.stream.admission import admit
from rain.stream.protocol import HELLO, REQUEST_SIZE, Ask, Say, StreamAnswer, StreamRequest
from rain.stream.reading import StreamReader
from rain.stream.sockets import hang_up
from rain.stream.stamps import Stamp
from tests.governor.words import object_id
from tests.support.streams import Holding, listening_streams

SIZE = 8 * MEMORY_LIMIT
OBJECT = object_id(500)
MADE_AT = 1_700_000_000_123_456_789


@define(eq=False)
class Breaking:
    """A holder that sends a part of a file and then breaks off, or says nothing any more."""

    port: socket.socket
    data: bytes
    stamp: Stamp
    sends: int
    hangs: bool
    asked: list[StreamRequest] = Factory(list)
    over: threading.Event = Factory(threading.Event)

    @property
    def address(self) -> str:
        host, port = self.port.getsockname()
        return f"{host}:{port}"

    def serve(self) -> None:
        while True:
            try:
                connected, _ = self.port.accept()
            except OSError:
                return  # closed
            with connected:
                admit(connected, None)
                asked = connected.recv(len(HELLO) + REQUEST_SIZE, socket.MSG_WAITALL)
                self.asked.append(StreamRequest.decode(asked[len(HELLO) :]))
                answer = StreamAnswer(Say.BYTES, len(self.data), self.stamp.spell())
                connected.sendall(answer.encode() + self.data[: self.sends])
                if self.hangs:
                    self.over.wait(60)


@contextmanager
def breaking(data: bytes, sends: int, *, hangs: bool = False) -> Generator[Breaking]:
    with socket.create_server(("127.0.0.1", 0)) as port:
        holder = Breaking(port, data, Stamp(MADE_AT, len(data)), sends, hangs)
        thread = threading.Thread(target=holder.serve)
        thread.start()
        try:
            yield holder
        finally:
            holder.over.set()
            hang_up(port)
            thread.join()


def fetched_from(
    tmp_path: Path, sources: list[str], second: Path | None
) -> tuple[Event, Store, int]:
    """What becomes of a fetch that is told of these sources and of a real holder at last.

    Without a second file the real holder has nothing.
    """
    contents: dict[int, bytes | Path] = {} if second is None else {OBJECT: second}
    store = Store(tmp_path / "store")
    store.folder.mkdir()
    events: list[Event] = []
    reader = StreamReader()

    async def main() -> int:
        with trio.fail_after(60):
            async with (
                listening_streams(Holding(contents)) as there,
                trio.open_nursery() as nursery,
            ):
                arrived = trio.Event()

                def tell(event: Event) -> None:
                    events.append(event)
                    arrived.set()

                log = structlog.get_logger()
                fetcher = Fetcher(reader, store, Background(nursery), tell, log)
                named = " ".join([*sources, there.address])
                fetcher.start(FetchObject(1, OBJECT, named, SIZE, ObjectKind(KindId(1))))
                await arrived.wait()
                fetcher.close()
        return 0

    program.run(main)
    (event,) = events
    return event, store, reader.received


def a_copy(path: Path, data: bytes) -> Path:
    """A file that another governor has received from where the data was made."""
    path.write_bytes(data)
    os.utime(path, ns=(MADE_AT, MADE_AT))
    return path


@pytest.mark.parametrize("hangs", [False, True])
def test_a_copy_of_the_same_making_gives_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    monkeypatch.setattr(fetch_module, "PATIENCE", 0.5)
    data = os.urandom(SIZE)
    second = a_copy(tmp_path / "second", data)
    with breaking(data, SIZE * 3 // 4, hangs=hangs) as first:
        event, store, received = fetched_from(tmp_path, [first.address], second)
    assert isinstance(event, ObjectFetched)
    assert isinstance(event.content, Stored)
    file = store.path(event.content.file)
    assert file.read_bytes() == data
    assert received == SIZE // 4
    assert file.stat().st_mtime_ns == MADE_AT
    assert [asked.ask for asked in first.asked] == [Ask.READ]


def test_what_was_made_again_comes_from_its_beginning(tmp_path: Path) -> None:
    second = tmp_path / "second"
    again = os.urandom(SIZE)
    second.write_bytes(again)
    with breaking(os.urandom(SIZE), SIZE // 2) as first:
        event, store, received = fetched_from(tmp_path, [first.address], second)
    assert isinstance(event, ObjectFetched)
    assert isinstance(event.content, Stored)
    assert store.path(event.content.file).read_bytes() == again
    assert received == SIZE
    assert len(list(store.folder.iterdir())) == 1


def test_a_holder_that_has_gone_is_passed_over(tmp_path: Path) -> None:
    data = os.urandom(SIZE)
    second = a_copy(tmp_path / "second", data)
    event, _, received = fetched_from(tmp_path, ["127.0.0.1:1"], second)
    assert isinstance(event, ObjectFetched)
    assert received == SIZE


def test_nothing_stays_of_what_nobody_can_finish(tmp_path: Path) -> None:
    with breaking(os.urandom(SIZE), SIZE // 2) as first:
        event, store, _ = fetched_from(tmp_path, [first.address], None)
    assert isinstance(event, FetchFailed)
    assert "does not have" in event.reason
    assert list(store.folder.iterdir()) == []


def test_the_incarnation_of_each_source_is_asked_for(tmp_path: Path) -> None:
    data = os.urandom(SIZE)
    second = a_copy(tmp_path / "second", data)
    with breaking(data, 0) as first:
        source = f"{first.address}#{GovernorId(5)}"
        fetched_from(tmp_path, [source], second)
    assert [asked.holder for asked in first.asked] == [5]
