"""Why there is no entry."""

from pathlib import Path

import pytest

from rain.base.caching import Key
from rain.cache import journal
from rain.cache.journal import EVICTED, NO_ENTRY
from tests.cache.support import a_cache, a_key, add

BEFORE = a_key("yesterday", function="1", Python="1", argument_x="1", argument_y="1")


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (a_key(name="g", function="1", Python="1", argument_x="1", argument_y="1"), NO_ENTRY),
        (a_key(function="2", Python="1", argument_x="1", argument_y="1"), "function changed"),
        (a_key(function="1", Python="1", argument_x="2", argument_y="1"), "argument x changed"),
        (
            a_key(function="2", Python="1", argument_x="2", argument_y="1"),
            "function and argument x changed",
        ),
        (
            a_key(function="2", Python="1", argument_x="2", argument_y="2"),
            "function, argument x and argument y changed",
        ),
        (a_key(function="2", Python="2", argument_x="2", argument_y="2"), NO_ENTRY),
        (a_key(function="1", Python="1", argument_x="1"), "argument y changed"),
        (a_key(function="1", Python="1", argument_x="1", argument_y="1"), EVICTED),
        (
            a_key("yesterday", function="2", Python="1", argument_x="1", argument_y="1"),
            "function changed",
        ),
        (a_key("yesterday", function="1", Python="1", argument_x="2", argument_y="1"), NO_ENTRY),
    ],
)
def test_the_reason_is_what_is_different_from_earlier_keys(
    tmp_path: Path, key: Key, why: str
) -> None:
    cache = a_cache(tmp_path)
    add(cache, BEFORE, b"")
    cache.path_of(BEFORE).unlink()
    assert a_cache(tmp_path).find(key) == why


def test_parts_that_tell_the_calls_of_one_session_apart_have_not_changed(
    tmp_path: Path,
) -> None:
    cache = a_cache(tmp_path)
    for step in "123":
        add(cache, a_key("yesterday", function="1", i=step, before=step, model="1"), b"")
    assert cache.find(a_key(function="1", i="4", before="4", model="1")) == NO_ENTRY
    assert cache.find(a_key(function="1", i="3", before="4", model="2")) == (
        "before and model changed"
    )
    assert cache.find(a_key(function="2", i="4", before="3", model="1")) == (
        "function and i changed"
    )


def test_a_value_that_a_sweep_did_not_have_is_new_and_has_not_changed(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    for x in "123":
        add(cache, a_key("yesterday", function="1", x=x, k="1"), b"")
    assert cache.find(a_key(function="1", x="4", k="1")) == "x is new"
    assert cache.find(a_key(function="1", x="3", k="2")) == "k changed"
    assert cache.find(a_key(function="2", x="3", k="1")) == "function changed"
    # when: today's calls are a sweep, too
    add(cache, a_key(function="1", x="4", k="1"), b"")
    add(cache, a_key(function="1", x="5", k="1"), b"")
    # then
    assert a_cache(tmp_path).find(a_key(function="1", x="6", k="1")) == "x is new"


def test_what_other_processes_add_is_noticed(tmp_path: Path) -> None:
    cache, other = a_cache(tmp_path), a_cache(tmp_path)
    key = a_key(function="2", Python="1", argument_x="1", argument_y="1")
    assert cache.find(key) == NO_ENTRY
    add(other, BEFORE, b"")
    assert cache.find(key) == "function changed"


def test_a_line_that_was_torn_says_nothing(tmp_path: Path) -> None:
    cache = a_cache(tmp_path)
    path = cache.journal("f").path
    path.write_bytes(b'["torn\n[1]\nnull\n{}\n[1, 2, 3]\n')
    add(cache, BEFORE, b"")
    with path.open("ab") as file:
        file.write(b'["not whole')
    assert cache.find(a_key(function="2", Python="1", argument_x="1", argument_y="1")) == (
        "function changed"
    )


def test_a_journal_that_became_shorter_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = a_cache(tmp_path)
    for number in range(100):
        add(cache, a_key("yesterday", function="1", argument_x=str(number)), b"")
    assert cache.find(a_key(function="2", argument_x="99")) == "function changed"
    monkeypatch.setattr(journal, "MOST_KEPT", 1000)
    monkeypatch.setattr(journal, "MOST_READ", 500)
    path = cache.journal("f").path
    journal.shorten(path, cache.place)
    assert 0 < path.stat().st_size <= 500
    assert cache.find(a_key(function="2", argument_x="99")) == "function changed"
    assert cache.find(a_key(function="2", argument_x="1")) != "function changed"
