"""Entries: found, added, damaged, and made by several at once."""

import os
import threading
from pathlib import Path

import pytest

from rain.cache.entries import Output
from rain.cache.errors import CacheError
from rain.cache.folder import DAMAGED
from rain.cache.journal import EVICTED, NO_ENTRY
from tests.cache.support import a_cache, a_key, add, data_of, found

KEY = a_key(function="1", argument_x="2")


def test_what_was_kept_is_found_by_another_process(tmp_path: Path) -> None:
    add(a_cache(tmp_path), KEY, b"one", b"")
    assert data_of(a_cache(tmp_path), KEY) == [b"one", b""]


def test_an_entry_says_what_it_was_made_of_and_how_long_that_took(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    add(cache, KEY, b"one")
    entry = found(cache, KEY).entry
    assert (entry.name, entry.parts, entry.seconds) == ("f", KEY.parts, 0.5)


def test_a_large_output_is_a_link_to_the_file_that_was_made(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"large")
    made.chmod(0o400)
    private = tmp_path / "cache"
    private.mkdir(mode=0o700)
    cache = a_cache(private)
    add(cache, KEY, b"small", made)
    kept = found(cache, KEY)
    assert kept.place_of(1).samefile(made)
    assert [one.data for one in kept.entry.outputs] == [b"small", None]


def test_a_folder_is_kept_with_its_programs_and_links(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "inner").mkdir(parents=True)
    (made / "inner" / "run").write_text("#!/bin/sh\n")
    (made / "inner" / "run").chmod(0o555)
    (made / "link").symlink_to("inner/run")
    cache = a_cache(tmp_path / "cache")
    add(cache, KEY, made)
    kept = found(cache, KEY)
    assert kept.entry.outputs[0].is_folder
    assert os.access(kept.place_of(0) / "link", os.X_OK)
    assert (kept.place_of(0) / "link").is_symlink()


def test_a_torn_entry_is_damaged_and_then_gone(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    add(cache, KEY, b"one")
    path = cache.path_of(KEY)
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.find(KEY) == DAMAGED
    assert cache.find(KEY) == EVICTED
    add(cache, KEY, b"one")
    assert data_of(cache, KEY) == [b"one"]


def test_an_empty_file_is_a_damaged_entry(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    cache.path_of(KEY).parent.mkdir()
    cache.path_of(KEY).touch()
    assert cache.find(KEY) == DAMAGED


@pytest.mark.parametrize("how", ["changed", "missing"])
def test_a_large_output_that_is_not_what_it_was_is_damaged(tmp_path: Path, how: str) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"large")
    cache = a_cache(tmp_path / "cache")
    add(cache, KEY, made)
    place = found(cache, KEY).place_of(0)
    place.unlink()
    if how == "changed":
        place.write_bytes(b"other")
    assert cache.find(KEY) == DAMAGED


def test_two_writers_of_one_entry_both_succeed(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"large")
    caches = [a_cache(tmp_path / "cache") for _ in range(2)]
    for cache in caches:
        add(cache, KEY, made)
        add(cache, a_key(function="small"), b"small")
    for cache in caches:
        assert found(cache, KEY).place_of(0).read_bytes() == b"large"
    assert not list((tmp_path / "cache" / "new").iterdir())


def test_many_threads_may_use_one_cache(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    keys = [a_key(function="1", argument_x=str(number)) for number in range(20)]
    wrong: list[object] = []

    def work() -> None:
        for key in keys:
            if isinstance(cache.find(key), str):
                add(cache, key, key.digest.encode())
            if data_of(cache, key) != [key.digest.encode()]:
                wrong.append(key)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failed_write_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    with pytest.raises(CacheError, match="No such file"):
        cache.add(KEY, 0.0, [Output(tmp_path / "gone", size=5)])
    assert not list((tmp_path / "new").iterdir())
    assert cache.find(KEY) == NO_ENTRY


def test_what_is_in_a_shared_folder_has_the_rights_of_the_folder(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    made = tmp_path / "made"
    made.write_bytes(b"large")
    made.chmod(0o400)
    cache = a_cache(shared)
    before = os.umask(0o077)
    try:
        add(cache, KEY, made)
        add(cache, a_key(function="small"), b"small")
    finally:
        os.umask(before)
    large, small = cache.path_of(KEY), cache.path_of(a_key(function="small"))
    for folder in (large, large.parent, shared / "entries", shared / "new", shared / "journals"):
        assert folder.stat().st_mode & 0o777 == 0o770, folder
    assert small.stat().st_mode & 0o777 == 0o660
    assert (large / "entry").stat().st_mode & 0o777 == 0o660
    assert (large / "0").stat().st_mode & 0o777 == 0o440
    assert not (large / "0").samefile(made)
    for journal in (shared / "journals").iterdir():
        assert journal.stat().st_mode & 0o777 == 0o660
