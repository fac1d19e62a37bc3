"""Look-ups and results, carried out with a real store and real folders."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import outcome
import pytest
import structlog

from rain.base.caching import TAKEN, Key
from rain.base.kinds import ObjectKind, TaskKind
from rain.cache.folder import CacheFolder
from rain.governor.core.effects import BuiltinInput, KeepOutputs, LookUp, OutputRow
from rain.governor.core.events import Event, LookedUp, OutputsKept
from rain.governor.core.results import Content, Made, Stored
from rain.governor.storage.cache_work import CacheWork
from rain.governor.storage.errors import StoreError
from rain.governor.storage.store import Store
from rain.rpc.background import Background
from tests.governor.words import kind_id, object_id
from tests.support.full_disk import files_no_larger_than

T = TypeVar("T")
LARGE = bytes(300_000)


class AtOnce:
    """Stands for the threads of the governor."""

    def in_thread(self, work: Callable[[], T], done: Callable[[Any], object]) -> None:
        done(outcome.capture(work))


class NoThread:
    """The governor ends before a thread has begun."""

    def in_thread(self, work: Callable[[], T], done: Callable[[Any], object]) -> None:
        pass


class Border:
    """A cache, a store and the events that come of them."""

    def __init__(self, folder: Path, name: str = "governor", background: object = None) -> None:
        self.folder = folder
        data = folder / name
        data.mkdir()
        self.store = Store(data)
        self.events: list[Event] = []
        threads = cast("Background", background or AtOnce())
        self.work = CacheWork(
            self.store, threads, self.events.append, structlog.get_logger(), 10_000_000
        )

    def kind(self, outputs: int = 1, cache: str = "") -> TaskKind:
        made = (kind_id(1),) * outputs
        cache = cache or str(self.folder / "cache")
        return TaskKind(kind_id(2), "py/", "f", outputs=made, cache=cache)

    def ask(self, *inputs: Content, kind: TaskKind | None = None) -> LookedUp:
        """Asks for the outputs of a task that reads these."""
        plan = {
            "name": "f",
            "run": "today",
            "parts": [["function", "1"]],
            "inputs": [["argument x", index] for index in range(len(inputs))],
        }
        given = tuple(
            BuiltinInput(object_id(place), ObjectKind(kind_id(1)), "", 1, content)
            for place, content in enumerate(inputs)
        )
        config = json.dumps({"cache": plan}).encode()
        self.work.look_up(LookUp(1, kind or self.kind(), config, given))
        answer = self.events.pop()
        assert isinstance(answer, LookedUp)
        return answer

    def keep(self, key: Key | None, *outputs: Content) -> None:
        assert key is not None
        rows = tuple(OutputRow(content, "text", "{}", 7) for content in outputs)
        self.work.keep(KeepOutputs(2, str(self.folder / "cache"), key, 0.5, rows))
        assert self.events.pop() == OutputsKept(2)

    def file(self, data: bytes) -> int:
        return self.store.write(data).file


def test_what_one_governor_has_kept_another_one_finds(tmp_path: Path) -> None:
    one, other = Border(tmp_path, "one"), Border(tmp_path, "other")
    missed = one.ask(b"x")
    assert (missed.outputs, missed.why) == (None, "ran: no entry")
    one.keep(missed.key, b"made")
    found = other.ask(b"x")
    assert (found.outputs, found.why) == ([Made(b"made", "text", "{}")], TAKEN)


def test_a_large_output_is_linked_into_the_cache_and_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    border = Border(tmp_path)
    made = border.file(LARGE)
    border.keep(border.ask().key, made)
    (found,) = border.ask().outputs or []
    assert isinstance(found, Made)
    assert isinstance(found.content, Stored)
    assert found.content.file != made
    assert found.content.size == 7
    assert border.store.path(found.content.file).samefile(border.store.path(made))
    border.store.delete([made, found.content.file])
    assert border.ask().outputs


def test_a_folder_comes_back_read_only_and_whole(tmp_path: Path) -> None:
    border = Border(tmp_path)
    number = border.store.new_number()
    (border.store.path(number) / "inner").mkdir(parents=True)
    (border.store.path(number) / "inner" / "file").write_bytes(b"data")
    border.store.settle(number)
    border.keep(border.ask().key, number)
    border.store.delete([number])
    (found,) = border.ask().outputs or []
    assert isinstance(found, Made)
    assert isinstance(found.content, Stored)
    path = border.store.path(found.content.file)
    assert (path / "inner" / "file").read_bytes() == b"data"
    assert not (path / "inner").stat().st_mode & 0o222


def test_the_same_content_is_the_same_key_in_memory_and_in_a_file(tmp_path: Path) -> None:
    border = Border(tmp_path)
    keys = [border.ask(content).key for content in (LARGE, border.file(LARGE), border.file(LARGE))]
    assert keys[0] == keys[1] == keys[2] != border.ask(b"other").key


def test_an_entry_with_other_outputs_than_the_task_is_not_taken(tmp_path: Path) -> None:
    border = Border(tmp_path)
    border.keep(border.ask().key, b"made")
    answer = border.ask(kind=border.kind(outputs=2))
    assert answer.outputs is None
    assert "has 1 outputs" in answer.why


def test_a_task_whose_input_has_gone_runs(tmp_path: Path) -> None:
    border = Border(tmp_path)
    number = border.file(LARGE)
    border.store.delete([number])
    answer = border.ask(number)
    assert (answer.outputs, answer.key) == (None, None)
    assert "an input cannot be read" in answer.why


def test_a_full_disk_is_no_failure_and_leaves_nothing_behind(tmp_path: Path) -> None:
    border = Border(tmp_path)
    key = border.ask().key
    with files_no_larger_than(1000):
        border.keep(key, bytes(5000))
    assert not list((tmp_path / "cache" / "new").iterdir())
    assert border.ask().why == "ran: no entry"
    border.keep(key, bytes(5000))
    assert border.ask().why == TAKEN


def test_of_an_entry_that_cannot_be_taken_in_whole_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    border = Border(tmp_path)
    key = border.ask(kind=border.kind(outputs=2)).key
    first, second = border.file(LARGE), border.file(LARGE)
    border.keep(key, first, second)
    border.store.delete([first, second])
    take_in = Store.take_in

    def take_in_one(store: Store, path: Path, size: int) -> Stored:
        if list(store.folder.iterdir()):
            raise StoreError("the disk is full")
        return take_in(store, path, size)

    monkeypatch.setattr(Store, "take_in", take_in_one)
    assert border.ask(kind=border.kind(outputs=2)).why == "ran: the disk is full"
    assert not list(border.store.folder.iterdir())


def test_a_folder_that_cannot_be_looked_into_is_no_cache_and_no_end_of_the_governor(
    tmp_path: Path,
) -> None:
    border = Border(tmp_path)
    key = border.ask().key
    shutil.rmtree(tmp_path / "cache" / "new")
    (tmp_path / "cache" / "new").touch()
    border.keep(key, b"made")
    assert border.ask().why.endswith(f"Not a directory: '{tmp_path}/cache/new'")


def test_a_cache_that_was_removed_is_made_again(tmp_path: Path) -> None:
    border = Border(tmp_path)
    key = border.ask().key
    os.rename(tmp_path / "cache", tmp_path / "gone")  # noqa: PTH104 # a plain move
    border.keep(key, b"made")  # it finds out
    border.keep(key, b"made")
    assert border.ask().why == TAKEN


@pytest.mark.parametrize("config", [b"", b"{}", b"\xff", b'{"cache": 1}'])
def test_a_task_that_does_not_say_what_its_key_is_runs(tmp_path: Path, config: bytes) -> None:
    border = Border(tmp_path)
    border.work.look_up(LookUp(1, border.kind(), config, ()))
    (answer,) = border.events
    assert isinstance(answer, LookedUp)
    assert (answer.outputs, answer.key) == (None, None)


def test_at_the_end_everything_is_kept_though_no_thread_begins_any_more(tmp_path: Path) -> None:
    key = Border(tmp_path, "before").ask().key
    assert key is not None
    border = Border(tmp_path, background=NoThread())
    row = OutputRow(b"made", "", "", 4)
    for _ in range(100):
        border.work.keep(KeepOutputs(2, str(tmp_path / "cache"), key, 0.5, (row,)))
    border.work.close()
    border.work.join()
    assert Border(tmp_path, "after").ask().why == TAKEN


def test_the_end_waits_for_a_thread_that_keeps_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Border(tmp_path, "before").ask().key
    assert key is not None
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    add = CacheFolder.add

    def slowly(*given: Any) -> None:
        begun.set()
        go_on.wait()
        add(*given)

    monkeypatch.setattr(CacheFolder, "add", slowly)

    class InAThread:
        def in_thread(self, work: Callable[[], T], done: Callable[[Any], object]) -> None:
            threading.Thread(target=work).start()

    border = Border(tmp_path, background=InAThread())
    row = OutputRow(b"made", "", "", 4)
    border.work.keep(KeepOutputs(2, str(tmp_path / "cache"), key, 0.5, (row,)))
    begun.wait()

    def end() -> None:
        border.work.join()
        ended.set()

    ending = threading.Thread(target=end)
    ending.start()
    assert not ended.is_set()
    go_on.set()
    ending.join()
    assert Border(tmp_path, "after").ask().why == TAKEN
