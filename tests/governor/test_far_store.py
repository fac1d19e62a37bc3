"""Files and directories in a far store: what comes back is what went there, or an error."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

import outcome
import pytest
import structlog

from rain.base.ids import ObjectId
from rain.base.kinds import ObjectKind
from rain.governor.core.effects import DeleteFar, FetchObject, SendFar
from rain.governor.core.events import Event, FetchFailed, ObjectFetched, SentFar
from rain.governor.core.results import Stored
from rain.governor.storage.far_store import FarStore
from rain.governor.storage.store import Store
from rain.stream.sockets import BrokenError
from tests.governor.words import kind_id

T = TypeVar("T")
NUMBER = 7


class AtOnce:
    """Does everything at once, in the thread of the test."""

    def in_thread(
        self, function: Callable[[], T], done: Callable[[outcome.Outcome[T]], object]
    ) -> None:
        done(outcome.capture(function))


class Playing:
    """A store, and a far store in another folder."""

    def __init__(self, folder: Path) -> None:
        (folder / "data").mkdir()
        self.store = Store(folder / "data")
        self.told: list[Event] = []
        background: Any = AtOnce()
        log = structlog.get_logger()
        self.slow = folder / "slow"
        self.far = FarStore(str(self.slow), self.store, background, log)

    def send(self, stored: Stored) -> Event:
        self.far.send(SendFar(NUMBER, stored.file, stored.size), self.told.append)
        return self.told.pop()

    def fetch(self, size: int) -> Event:
        kind = ObjectKind(kind_id(1))
        self.far.fetch(FetchObject(1, ObjectId(1), f"far:{NUMBER}", size, kind), self.told.append)
        return self.told.pop()

    @property
    def written(self) -> Path:
        (path,) = self.slow.glob(f"*/{NUMBER}")
        return path


@pytest.fixture
def playing(tmp_path: Path) -> Generator[Playing, None, None]:
    made = Playing(tmp_path)
    yield made
    made.far.close()
    assert not list(made.slow.iterdir())


def a_folder(path: Path) -> Path:
    (path / "deep" / "empty").mkdir(parents=True)
    (path / "deep" / "large").write_bytes(os.urandom(300_000))
    (path / "nothing").touch()
    (path / "program").write_text("#!/bin/sh\n")
    (path / "program").chmod(0o755)
    (path / "link").symlink_to("deep/large")
    return path


def tree(folder: Path) -> dict[str, object]:
    """Everything in a folder: what files contain, where links lead, and what can be executed."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            content: object = path.readlink()
        else:
            content = path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = content, path.is_file() and os.access(path, os.X_OK)
    return found


def test_a_directory_comes_back_as_it_was(playing: Playing, tmp_path: Path) -> None:
    before = tree(a_folder(tmp_path / "made"))
    stored = playing.store.adopt(tmp_path / "made")
    assert playing.send(stored) == SentFar(NUMBER, stored.file)
    assert playing.written.stat().st_size == stored.size
    playing.store.delete([stored.file])

    event = playing.fetch(stored.size)

    assert isinstance(event, ObjectFetched)
    assert isinstance(event.content, Stored)
    assert event.content.size == stored.size
    assert tree(playing.store.path(event.content.file)) == before
    assert not os.access(playing.store.path(event.content.file), os.W_OK) or os.geteuid() == 0


def test_a_file_of_a_far_directory_is_read_alone(playing: Playing, tmp_path: Path) -> None:
    large = (a_folder(tmp_path / "made") / "deep" / "large").read_bytes()
    stored = playing.store.adopt(tmp_path / "made")
    playing.send(stored)

    held = playing.far.find(NUMBER)

    assert held.files is not None
    assert set(held.files) == {"deep/large", "nothing", "program", "link"}
    begin, size = held.files["deep/large"]
    assert held.part(begin + 100, begin + size) == large[100:]
    assert held.files["link"] == held.files["deep/large"]
    assert b"".join(held.pieces()) == playing.written.read_bytes()


def test_a_directory_that_goes_while_it_is_copied_is_told_by_name(
    playing: Playing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = playing.store.adopt(a_folder(tmp_path / "made"))
    folder = playing.store.path(stored.file)
    opened = threading.Event()
    path_open = Path.open

    def open_after_it_went(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.is_relative_to(folder) and not opened.is_set():
            opened.set()
            playing.store.delete([stored.file])
        return path_open(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_after_it_went)

    assert playing.send(stored) == SentFar(NUMBER, stored.file, "the directory was removed")
    assert opened.is_set()
    assert not list(playing.slow.glob(f"*/{NUMBER}"))


@pytest.mark.parametrize("where", [0, 1000, -1], ids=["in a header", "in a file", "at the end"])
def test_a_directory_of_other_bytes_than_were_written_never_comes_back(
    playing: Playing, tmp_path: Path, where: int
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "large").write_bytes(bytes(300_000))
    stored = playing.store.adopt(tmp_path / "made")
    playing.send(stored)
    playing.store.delete([stored.file])
    data = bytearray(playing.written.read_bytes())
    data[where] ^= 255
    playing.written.write_bytes(data)

    event = playing.fetch(stored.size)

    assert isinstance(event, FetchFailed)
    assert not event.here
    assert not list(playing.store.folder.iterdir())
    with pytest.raises(BrokenError, match="other bytes"):
        list(playing.far.find(NUMBER).pieces())


def test_a_file_comes_back_as_it_was_and_goes_with_its_object(playing: Playing) -> None:
    data = os.urandom(300_000)
    stored = playing.store.write(data)
    assert playing.send(stored) == SentFar(NUMBER, stored.file)
    assert playing.far.find(NUMBER).files is None

    event = playing.fetch(stored.size)

    assert isinstance(event, ObjectFetched)
    assert isinstance(event.content, Stored)
    assert playing.store.path(event.content.file).read_bytes() == data
    playing.far.delete(DeleteFar([NUMBER]))
    assert not list(playing.slow.glob(f"*/{NUMBER}"))
