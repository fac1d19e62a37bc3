"""Keys, and what tasks say of them."""

import json
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.cache.contents import Digests
from rain.cache.digests import digest_of, digest_of_texts
from rain.cache.entries import decode
from rain.cache.errors import CacheError, DamagedEntryError
from rain.cache.plan import KeyPlan, read_plan

TABLE: dict[str, Any] = {
    "name": "f",
    "run": "today",
    "parts": [["function", "1"], ["argument x", "2"]],
    "inputs": [["argument x", 1]],
}


@pytest.mark.parametrize("packed", [json.dumps, msgpack.packb])
def test_a_plan_is_read_from_configs_of_programs_and_of_functions(packed: Any) -> None:
    config = packed({"cache": TABLE, "args": []})
    config = config.encode() if isinstance(config, str) else config
    assert read_plan(config, 2) == KeyPlan(
        "f", "today", (("function", "1"), ("argument x", "2")), (("argument x", 1),)
    )


@pytest.mark.parametrize(
    "table",
    [
        None,
        {},
        {**TABLE, "name": 1},
        {**TABLE, "parts": [["function"]]},
        {**TABLE, "parts": 1},
        {**TABLE, "inputs": [["argument x", 2]]},
        {**TABLE, "inputs": [["argument x", -1]]},
        {**TABLE, "inputs": [["argument x", "1"]]},
    ],
)
def test_nonsense_is_refused(table: Any) -> None:
    with pytest.raises(CacheError, match="does not say what its key is made of"):
        read_plan(json.dumps({"cache": table}).encode(), 2)


@given(st.binary(max_size=50))
def test_any_bytes_are_a_plan_or_are_refused(config: bytes) -> None:
    with pytest.raises(CacheError):
        read_plan(config, 2)


@given(st.binary(max_size=80))
def test_any_bytes_are_an_entry_or_damaged(data: bytes) -> None:
    with pytest.raises(DamagedEntryError):
        decode(data)


def test_parts_of_the_same_words_become_one() -> None:
    plan = read_plan(json.dumps({"cache": TABLE}).encode(), 2)
    key = plan.key("py/", ["content"])
    assert [words for words, _ in key.parts] == ["function", "argument x"]
    assert key != plan.key("py/", ["other content"])


def test_a_key_depends_on_each_part_and_on_the_kind_of_the_task() -> None:
    plan = KeyPlan("f", "today", (("a", "1"), ("b", "2")), ())
    others = [
        KeyPlan("f", "today", (("a", "1"), ("b", "3")), ()).key("py/", []),
        KeyPlan("f", "today", (("a", "12"), ("b", "")), ()).key("py/", []),
        KeyPlan("f", "today", (("a", "1"),), ()).key("py/", []),
        plan.key("buildin/run", []),
    ]
    digests = {plan.key("py/", []).digest, *(key.digest for key in others)}
    assert len(digests) == 5
    assert KeyPlan("f", "another", plan.parts, ()).key("py/", []).digest in digests


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_different_texts_have_different_digests(one: list[str], other: list[str]) -> None:
    assert (digest_of_texts(*one) == digest_of_texts(*other)) == (one == other)


def test_a_file_has_the_digest_of_its_bytes_and_is_read_once(tmp_path: Any) -> None:
    digests = Digests()
    (tmp_path / "file").write_bytes(b"content")
    for _ in range(2):
        assert digests.of(tmp_path / "file") == digest_of(b"content")
    assert digests.read == len(b"content")


def test_folders_are_alike_when_their_files_are(tmp_path: Any) -> None:
    found: list[str] = []
    for name in ("a", "b", "renamed", "program"):
        folder = tmp_path / name
        folder.mkdir()
        inner = folder / ("other" if name == "renamed" else "file")
        inner.write_bytes(b"content")
        inner.chmod(0o500 if name == "program" else 0o400)
        found.append(Digests().of(folder))
    assert found[0] == found[1]
    assert len(set(found)) == 3
