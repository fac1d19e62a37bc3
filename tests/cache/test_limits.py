"""A cache stays within its limit, no matter how many write."""

import os
from pathlib import Path

import pytest

from rain.cache import limits
from rain.cache.errors import CacheError
from rain.cache.folder import CacheFolder, FoundEntry
from rain.cache.journal import EVICTED
from rain.cache.limits import alone, entries_of
from tests.cache.support import a_cache, a_key, add


def keys(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def fill(cache: CacheFolder, count: int, size: int = 1000) -> None:
    """Entries whose age is told by their number: the first is the oldest."""
    for name in keys(count):
        key = a_key(function=name)
        add(cache, key, bytes(size))
        if cache.path_of(key).exists():
            os.utime(cache.path_of(key), (int(name) + 1, int(name) + 1))


def left(cache: CacheFolder, count: int) -> list[str]:
    return [name for name in keys(count) if cache.path_of(a_key(function=name)).exists()]


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, 10_000)
    fill(cache, 12)
    remaining = left(cache, 12)
    assert 0 < sum(one.size for one in entries_of(cache.place)) <= 10_000
    assert remaining == keys(12)[-len(remaining) :]


def test_an_entry_that_was_used_stays(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, 10_000)
    fill(cache, 6)
    assert isinstance(cache.find(a_key(function="0")), FoundEntry)
    fill_more = [a_key(function=f"new {number}") for number in range(6)]
    for key in fill_more:
        add(cache, key, bytes(1000))
    assert "0" in left(cache, 6)
    assert "1" not in left(cache, 6)


def test_what_was_evicted_is_said_to_be(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, 10_000)
    fill(cache, 20)
    assert cache.find(a_key(function="0")) == EVICTED


def test_what_other_processes_have_added_counts(tmp_path: Path) -> None:
    fill(a_cache(tmp_path, 100_000), 20)
    add(a_cache(tmp_path, 10_000), a_key(function="mine"), b"")
    assert sum(one.size for one in entries_of(a_cache(tmp_path).place)) <= 10_000


def test_a_result_that_is_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, 1000)
    with pytest.raises(CacheError, match="more than its limit"):
        add(cache, a_key(function="1"), bytes(2000))
    assert not list((tmp_path / "new").iterdir())


def test_while_one_process_evicts_another_one_does_not(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, 10_000)
    fill(cache, 5)
    with alone(cache.place) as is_alone:
        assert is_alone
        fill(cache, 20)
        assert left(cache, 20) == keys(20)
    add(cache, a_key(function="last"), b"")
    assert len(left(cache, 20)) < 10


def test_what_a_killed_process_has_left_behind_goes_after_a_day(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    old, new = (tmp_path / "new" / name for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "0").write_bytes(b"half")
        folder.chmod(0o500)
    os.utime(old, (1, 1))
    limits.tidy(cache.place)
    assert not old.exists()
    assert new.exists()


def test_what_was_left_behind_goes_when_the_cache_is_opened_even_if_it_is_far_from_full(
    tmp_path: Path,
) -> None:
    a_cache(tmp_path)
    old = tmp_path / "new" / "old"
    old.mkdir()
    os.utime(old, (1, 1))
    a_cache(tmp_path)
    assert not old.exists()


def test_without_a_limit_a_cache_may_have_a_part_of_its_disk(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, None)
    limit = limits.Limit(cache.place, None)
    status = os.statvfs(tmp_path)
    assert limit.most == status.f_blocks * status.f_frsize // limits.PART_OF_THE_DISK
