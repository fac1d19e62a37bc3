"""What a layout writes pycapnp reads, and the other way round; nothing else is ever read."""

from __future__ import annotations

from array import array
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.errors import InvariantError
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.values import Capability, UnreadableError
from tests.rpc.capnproto.everything import everything, schemas

EVERYTHING = Layout.of(schemas.Everything)
MESSAGE = Layout.of(schema.rpc.Message)


def by_pycapnp(values: dict[str, Any], segments: bool = False) -> bytes:
    """The message that pycapnp makes of these fields; in several segments if it can."""
    builder = schemas.Everything.new_message(num_first_segment_words=1 if segments else None)
    for name, value in values.items():
        if name == "group":
            builder.group.one, builder.group.other = value["one"], value["other"]
        else:
            setattr(builder, name, value)
    content: bytes = builder.to_bytes()
    return content


def read_by_pycapnp(content: bytes) -> dict[str, Any]:
    with schemas.Everything.from_bytes(content) as reader:
        read: dict[str, Any] = reader.to_dict(verbose=True)
    return read


@given(everything())
def test_pycapnp_reads_what_we_write(values: dict[str, Any]) -> None:
    assert read_by_pycapnp(EVERYTHING.write(values)) == read_by_pycapnp(by_pycapnp(values))


@given(everything())
def test_we_read_what_we_write(values: dict[str, Any]) -> None:
    assert EVERYTHING.read(EVERYTHING.write(values)) == values


@given(everything(), st.booleans())
def test_we_read_what_pycapnp_writes_in_one_segment_or_in_many(
    values: dict[str, Any], segments: bool
) -> None:
    assert EVERYTHING.read(by_pycapnp(values, segments)) == values


def test_a_small_first_segment_really_makes_pycapnp_write_several() -> None:
    content = by_pycapnp({"text": "x" * 1000, "numbers": [1] * 5000}, segments=True)
    assert int.from_bytes(content[:4], "little") > 0


def test_fields_that_are_not_given_have_their_defaults() -> None:
    read = EVERYTHING.read(EVERYTHING.write({}))
    assert (read["int32"], read["uint16"], read["uint64"]) == (-5, 77, 2**64 - 1)
    assert read["yes"] is True
    assert read["no"] is False
    assert read["colour"] == "red"
    assert "nothing" in read
    assert "word" not in read


def test_a_list_may_be_given_as_an_array() -> None:
    content = EVERYTHING.write({"numbers": array("q", [1, -2, 3])})
    assert EVERYTHING.read(content)["numbers"] == [1, -2, 3]


def test_a_field_that_the_schema_does_not_have_is_ours() -> None:
    with pytest.raises(InvariantError, match="no field 'colr'"):
        EVERYTHING.write({"colr": "red"})


def test_a_newer_release_reads_an_older_one_and_the_other_way_round() -> None:
    small, grown = Layout.of(schemas.Small), Layout.of(schemas.Grown)
    read = grown.read(small.write({"number": 1, "text": "a"}))
    assert read == {
        "number": 1,
        "text": "a",
        "more": 9,
        "texts": [],
        "inner": {"number": 0, "text": ""},
    }
    told = {"number": 1, "text": "a", "more": 2, "texts": ["b"], "inner": {"number": 3}}
    assert small.read(grown.write(told)) == {"number": 1, "text": "a"}


def test_what_an_enum_or_a_union_has_that_we_do_not_know_is_refused_by_name() -> None:
    content = bytearray(EVERYTHING.write({"colour": "blue"}))
    place = 16 + EVERYTHING.shape.slots["colour"].place
    content[place] = 9
    with pytest.raises(UnreadableError, match="colour has a value"):
        EVERYTHING.read(bytes(content))
    content[place] = 0
    content[16 + EVERYTHING.shape.choice_place] = 7
    with pytest.raises(UnreadableError, match="Everything is something"):
        EVERYTHING.read(bytes(content))


@settings(max_examples=500)
@given(everything(), st.data())
def test_whatever_is_changed_in_a_message_it_is_read_or_refused(
    values: dict[str, Any], data: st.DataObject
) -> None:
    content = bytearray(by_pycapnp(values, data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    with suppress(UnreadableError):
        EVERYTHING.read(bytes(content))


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for layout in (EVERYTHING, MESSAGE):
        with suppress(UnreadableError):
            layout.read(content)


@given(everything(), st.integers(0, 100))
def test_a_message_that_was_cut_is_refused(values: dict[str, Any], cut: int) -> None:
    content = EVERYTHING.write(values)
    with pytest.raises(UnreadableError):
        EVERYTHING.read(content[: -1 - cut % len(content)])


def test_a_message_that_leads_in_circles_ends() -> None:
    nest = Layout.of(schemas.Nest)
    content = bytearray(nest.write({"nest": {}}))
    content[16:24] = (0xFFFF_FFF8 | 2 << 48).to_bytes(8, "little")  # it holds itself
    with pytest.raises(UnreadableError):
        nest.read(bytes(content))


def test_a_list_of_millions_of_empty_structs_is_refused() -> None:
    nest = Layout.of(schemas.Nest)
    content = bytearray(nest.write({"nests": [{}]}))
    tag = 16 + 16
    content[tag : tag + 8] = (10_000_000 << 2).to_bytes(8, "little")
    with pytest.raises(UnreadableError, match="small message"):
        nest.read(bytes(content))


def test_a_struct_and_an_object_travel_in_a_field_of_any_type() -> None:
    inner = Layout.of(schemas.Inner)
    payload: dict[str, Any] = {
        "content": inner.within({"number": 5, "text": "a"}),
        "capTable": [{"senderHosted": 3}],
    }
    content = MESSAGE.write({"return": {"answerId": 1, "results": payload}})
    read = MESSAGE.read(content)["return"]["results"]
    assert inner.read_within(read["content"]) == {"number": 5, "text": "a"}
    assert "senderHosted" in read["capTable"][0]
    payload["content"] = Capability(4)
    content = MESSAGE.write({"return": {"answerId": 1, "results": payload}})
    assert MESSAGE.read(content)["return"]["results"]["content"].capability() == 4
