"""What people see of a cache, and remove."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rain.cache.journal import EVICTED, NO_ENTRY
from rain.cache.listing import DAMAGED, clear, listed, sums, trim
from rain.cli import cli
from tests.cache.support import a_cache, a_key, add, data_of

OLD, NEW = a_key(name="old", function="1"), a_key(name="new", function="2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache with an old small result and a new large one."""
    made = tmp_path / "made"
    made.write_bytes(bytes(10_000))
    cache = a_cache(tmp_path / "cache")
    add(cache, OLD, b"small")
    add(cache, NEW, made)
    os.utime(cache.path_of(OLD), (1, 1))
    return tmp_path / "cache"


def rain(*words: str) -> Result:
    return CliRunner().invoke(cli, ["cache", *words])


def test_the_result_that_was_used_last_comes_first(folder: Path) -> None:
    found = listed(a_cache(folder).place)
    assert [one.name for one in found] == ["new", "old"]
    assert found[0].size > 10_000
    assert (found[0].parts, found[0].seconds) == (NEW.parts, 0.5)
    assert [one.name for one in listed(a_cache(folder).place, "old")] == ["old"]


def test_sizes_are_added_up_for_each_name(folder: Path) -> None:
    add(a_cache(folder), a_key(name="old", function="3"), b"small")
    rows = sums(listed(a_cache(folder).place))
    assert [(name, count) for name, count, _ in rows] == [("new", 1), ("old", 2)]


def test_a_damaged_entry_is_listed_and_can_be_removed(folder: Path) -> None:
    cache = a_cache(folder)
    cache.path_of(OLD).write_bytes(b"nonsense")
    assert [one.name for one in listed(cache.place)] == [DAMAGED, "new"]
    assert trim(cache.place, 0, DAMAGED).count == 1
    assert [one.name for one in listed(cache.place)] == ["new"]


def test_what_was_not_used_for_longest_is_trimmed(folder: Path) -> None:
    cache = a_cache(folder)
    gone = trim(cache.place, 10_250)
    assert gone.count == 1
    assert [one.name for one in listed(cache.place)] == ["new"]
    assert cache.find(OLD) == EVICTED


def test_after_it_was_cleared_a_cache_is_empty_and_can_be_used(folder: Path) -> None:
    cache = a_cache(folder)
    assert clear(cache.place).count == 2
    assert cache.find(OLD) == NO_ENTRY
    add(cache, OLD, b"again")
    assert data_of(cache, OLD) == [b"again"]


def test_the_command_lists_and_adds_up_and_removes(folder: Path) -> None:
    of = ("--folder", str(folder))
    lines = rain("list", *of).output.splitlines()
    assert lines[0].endswith("0.500  new")
    assert lines[-1].startswith("2 results, ")
    assert "function" in rain("list", "--why", *of).output
    assert rain("size", *of).output.splitlines()[1].endswith("1  old")
    assert rain("trim", "--limit", "10250", *of).output.startswith("removed 1 results")
    assert rain("clear", "--name", "new", *of).output.startswith("removed 1 results")
    assert rain(*of).output.startswith("0 results")


def test_a_folder_that_is_no_cache_is_refused_and_nothing_is_made_there(tmp_path: Path) -> None:
    refused = rain("clear", "--folder", str(tmp_path))
    assert refused.exit_code
    assert "is not a cache" in str(refused.exception)
    assert not list(tmp_path.iterdir())


def test_where_nothing_was_kept_nothing_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert rain().output == f"nothing is kept in {tmp_path}/rain/results\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [("trim",), ("clear", "--limit", "1G"), ("list", "--limit", "1")])
def test_a_limit_is_for_trimming(words: tuple[str, ...]) -> None:
    refused = rain(*words)
    assert refused.exit_code == 2
    assert "'trim' needs --limit SIZE" in refused.output
