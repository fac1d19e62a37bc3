import importlib
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.common import RainException
from rain.common.content_type import (
    check_content_type,
    decode_value,
    encode_value,
    is_type_instance,
    merge,
    merge_content_types,
)


def test_these_are_content_types() -> None:
    check_content_type(None)
    for name in ["pickle", "cloudpickle", "json", "cbor", "arrow", "protobuf", "dir", "text"]:
        check_content_type(name)
    for name in ("", "text-latin-1", "user/my-type", "mime/image/png", "protobuf/Message"):
        check_content_type(name)


@pytest.mark.parametrize("name", ["yaml", "Pickle", "users/x", "textual"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        check_content_type(name)


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        (None, None, None),
        (None, "json", "json"),
        ("json", "json", "json"),
        ("text", "text-utf-8", "text-utf-8"),
        ("user/", "user/x", "user/x"),
        ("", "cbor", "cbor"),
        ("pickle", "cloudpickle", "cloudpickle"),
    ],
)
def test_merging_gives_the_narrower_type(a: str | None, b: str | None, merged: str | None) -> None:
    assert merge_content_types(a, b) == merged
    assert merge(b, a) == merged


def test_types_that_contradict_each_other_cannot_be_merged() -> None:
    with pytest.raises(RainException, match="'json' and 'cbor'"):
        merge("json", "cbor")


def test_a_type_is_an_instance_of_its_beginnings_and_a_pickle_is_a_cloudpickle() -> None:
    assert is_type_instance("text-utf-8", "text")
    assert is_type_instance("pickle", "cloudpickle")
    assert is_type_instance(None, None)
    assert is_type_instance("json", None)
    assert not is_type_instance("cloudpickle", "pickle")
    assert not is_type_instance("text", "text-utf-8")
    assert not is_type_instance(None, "text")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(plain, st.sampled_from(["pickle", "cloudpickle", "json", "cbor"]))
def test_a_value_survives_its_encoding(value: Any, content_type: str) -> None:
    assert decode_value(encode_value(value, content_type), content_type) == value


@given(st.text())
def test_text_survives_as_utf_8(value: str) -> None:
    assert decode_value(encode_value(value, "text"), "text") == value
    assert encode_value(value, "text-utf-16") == value.encode("utf-16")


def test_cloudpickle_writes_what_pickle_cannot() -> None:
    number = 41

    assert decode_value(encode_value(lambda: number + 1, "cloudpickle"), "cloudpickle")() == 42


def test_text_types_take_nothing_but_str() -> None:
    with pytest.raises(RainException, match="Only str"):
        encode_value(b"bytes", "text")
    with pytest.raises(RainException, match="no encoding 'klingon'"):
        encode_value("x", "text-klingon")
    with pytest.raises(RainException, match="no encoding 'klingon'"):
        decode_value(b"x", "text-klingon")


@pytest.mark.parametrize("content_type", [None, "", "protobuf", "user/x", "mime/text", "dir"])
def test_values_need_a_type_that_has_an_encoding(content_type: str | None) -> None:
    with pytest.raises(RainException):
        encode_value("x", content_type)
    with pytest.raises(RainException):
        decode_value(b"x", content_type)


def test_only_bytes_are_decoded() -> None:
    with pytest.raises(RainException, match="Only bytes"):
        decode_value("x", "text")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # the mistake


@pytest.mark.parametrize(("content_type", "package"), [("cbor", "cbor2"), ("arrow", "pyarrow")])
def test_a_missing_library_is_named(
    content_type: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(RainException, match=f"pip install {package}"):
        encode_value([1], content_type)
    with pytest.raises(RainException, match=f"pip install {package}"):
        decode_value(b"", content_type)


def test_arrow_gives_back_what_it_was_given() -> None:
    pa: Any = importlib.import_module("pyarrow")  # it ships no types
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})

    def again(value: Any) -> Any:
        return decode_value(encode_value(value, "arrow"), "arrow")

    assert again(table).equals(table)
    assert again(table.to_batches()[0]).equals(table.to_batches()[0])
    assert again(pa.array([1, 2, 3])).equals(pa.array([1, 2, 3]))
    assert again([1, 2, 3]) == [1, 2, 3]
    assert again({"a": [1.5], "b": "text"}) == {"a": [1.5], "b": "text"}
    matrix = np.arange(6).reshape(2, 3)
    assert (again(matrix) == matrix).all()
    assert again(matrix).shape == (2, 3)


def test_a_class_that_nobody_can_import_travels_in_the_pickle() -> None:
    class Local:
        def __init__(self, value: int) -> None:
            self.value = value

    (copied,) = decode_value(encode_value([Local(3)], "pickle"), "pickle")

    assert type(copied) is Local
    assert copied.value == 3


def test_a_class_of_the_program_itself_is_not_only_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        x = 7

    Point.__module__, Point.__qualname__ = "__main__", "Point"
    program = sys.modules["__main__"]
    monkeypatch.setattr(program, "Point", Point, raising=False)
    assert b"cloudpickle" not in pickle.dumps(Point())

    data = encode_value(Point(), "pickle")

    monkeypatch.delattr(program, "Point")  # as in an executor, whose program is another one
    assert decode_value(data, "pickle").x == 7


def test_what_cannot_be_pickled_at_all_is_said_so() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        encode_value(threading.Lock(), "pickle")
