"""What we write pycapnp reads as the same, and the other way round."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import InvariantError
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.writing import Capability
from tests.rpc.capnproto.every import DEFAULTS, EVERY, complete, every, of_pycapnp, ours, values

INNER = Layout.of(every.Inner)
MESSAGE = Layout.of(schema.rpc.Message)


@given(values)
def test_what_we_write_pycapnp_reads(given_values: dict[str, Any]) -> None:
    message = EVERY.write(given_values)
    assert of_pycapnp(message) == complete(given_values)
    assert ours(message) == complete(given_values)


@given(values, st.sampled_from([None, 1, 2, 20]))
def test_what_pycapnp_writes_we_read(given_values: dict[str, Any], segment: int | None) -> None:
    """With a short first segment the message has several."""
    builder = every.Every.new_message(num_first_segment_words=segment)
    builder.from_dict(given_values)
    assert ours(builder.to_bytes()) == complete(given_values)


def test_messages_of_several_segments_are_read() -> None:
    """Columns that have no room beside their struct, and structs beside their pointer."""
    builder = every.Every.new_message(num_first_segment_words=1)
    builder.i64s = [*range(1000)]
    builder.texts = ["text"] * 300
    builder.datas = [b"data"] * 300
    builder.inners = [{"number": number, "text": "x" * 40} for number in range(100)]
    message = builder.to_bytes()
    assert int.from_bytes(message[:4], "little") > 1  # the number of further segments
    read = ours(message)
    assert read == complete(
        {
            "i64s": [*range(1000)],
            "texts": ["text"] * 300,
            "datas": [b"data"] * 300,
            "inners": [{"number": number, "text": "x" * 40} for number in range(100)],
            "none": None,
        }
    )


@pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\0" * 8, b"123", b"12345678"])
def test_columns_may_be_given_in_any_form(content: bytes) -> None:
    numbers = (3, -1, 2**62)
    message = EVERY.write(
        {"i64s": array("q", numbers), "u32s": array("q", [1, 2]), "data": memoryview(content)}
    )
    read = of_pycapnp(message)
    assert (read["i64s"], read["u32s"], read["data"]) == ([*numbers], [1, 2], content)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_messages_may_come_in_any_form(kind: type[Any]) -> None:
    assert EVERY.read(kind(EVERY.write({"data": b"abc"})))["data"] == b"abc"


def test_an_empty_message_says_the_defaults() -> None:
    assert ours(every.Every.new_message().to_bytes()) == DEFAULTS | {"none": None}


def test_what_is_read_belongs_to_its_reader_alone() -> None:
    layout = Layout.of(schema.governor.Orders)
    message = layout.write({"tasks": {}})
    first, second = layout.read(message), layout.read(message)
    first["tasks"]["ids"].append(1)
    assert second["tasks"]["ids"] == layout.read(message)["tasks"]["ids"] == []


def test_an_object_is_its_place_in_the_table() -> None:
    read = EVERY.read(EVERY.write({"thing": 5, "any": Capability(6)}))
    assert (read["thing"], read["any"].capability()) == (5, 6)
    read = EVERY.read(EVERY.write({"any": (INNER, {"number": 3})}))
    assert read["thing"] is None
    assert read["any"].struct(INNER) == {"number": 3, "text": ""}
    assert EVERY.read(EVERY.write({}))["any"].struct(INNER) == {"number": 0, "text": ""}
    assert EVERY.read(EVERY.write({}))["any"].capability() is None


def test_a_call_with_its_parameters_is_one_message() -> None:
    # given
    reason = Layout.of(schema.governor.GovernorControl.schema.methods["stop"].param_type)
    table = [{"senderHosted": 4}, {"none": None}]

    # when
    message = MESSAGE.write(
        {
            "call": {
                "questionId": 7,
                "target": {"promisedAnswer": {"questionId": 3, "transform": [{"noop": None}]}},
                "interfaceId": 2**63 + 5,
                "methodId": 2,
                "params": {"content": (reason, {"reason": "over"}), "capTable": table},
            }
        }
    )

    # then
    with schema.rpc.Message.from_bytes(message) as reader:
        call = reader.call
        assert (call.questionId, call.interfaceId, call.methodId) == (7, 2**63 + 5, 2)
        assert call.target.promisedAnswer.transform[0]._which_str() == "noop"
        assert call.params.capTable[0].senderHosted == 4
        method = schema.governor.GovernorControl.schema.methods["stop"]
        assert call.params.content.as_struct(method.param_type).reason == "over"
    read = MESSAGE.read(message)["call"]
    assert read["params"]["content"].struct(reason) == {"reason": "over"}
    assert read["sendResultsTo"] == {"caller": None}
    assert [entry["attachedFd"] for entry in read["params"]["capTable"]] == [255, 255]


def test_a_field_that_is_not_in_the_schema_is_our_mistake() -> None:
    with pytest.raises(InvariantError, match="Every has no field 'colours'"):
        EVERY.write({"colours": 1})
