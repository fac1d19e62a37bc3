"""An object whose holder breaks off goes on from another one, from where it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import structlog
import trio

from rain.base.ids import GovernorId, KindId
from rain.base.kinds import ObjectKind
from rain.daemon import program
from rain.governor.core.effects import FetchObject
from rain.governor.core.events import Event, FetchFailed, ObjectFetched
from rain.governor.core.results import Stored
from rain.governor.storage import fetch as fetch_module
from rain.governor.storage.fetch import Fetcher
from rain.governor.storage.store import MEMORY_LIMIT, Store
from rain.rpc.background import Background
from rain.stream.protocol import Ask
from rain.stream.reading import StreamReader
from tests.governor.words import object_id
from tests.support.streams import MADE_AT, Holding, breaking, listening_streams

SIZE = 8 * MEMORY_LIMIT
OBJECT = object_id(500)


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
