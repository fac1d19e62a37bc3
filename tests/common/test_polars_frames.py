"""Large frames of polars are mapped column by column; others travel as polars has them."""

import importlib.util
import pickle
from collections.abc import Callable, Sequence
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rain.client.sent.arguments import InputCollector, pickle_value
from rain.common import polars_frames
from rain.common.content_type import decode_value, encode_parts
from rain.common.pickles import LARGE, Part
from rain.stream.mapping import map_file

ROWS = LARGE // 8
NEWEST = pl.CompatLevel.newest()
CONTENT_TYPES = ["pickle", "cloudpickle"]
Encode = Callable[[Any], list[Part]]


def a_frame() -> pl.DataFrame:
    """Numbers, texts short and long, and a column in which every second value lacks."""
    return pl.DataFrame(
        {
            "number": np.arange(ROWS),
            "text": [f"row {number}" * (number % 4) for number in range(ROWS)],
            "half": [None if number % 2 else number / 2 for number in range(ROWS)],
        }
    )


def buffers(frame: Any) -> list[range]:
    """The memory of the columns of a frame. No column is copied to learn that."""
    table = frame.to_arrow(compat_level=NEWEST)
    return [
        range(found.address, found.address + found.size)
        for column in table.columns
        for chunk in column.chunks
        for found in chunk.buffers()
        if found is not None and found.size
    ]


def copied(frame: pl.DataFrame, where: Sequence[range]) -> int:
    """How many of its buffers lie elsewhere."""
    return sum(not any(found.start in one for one in where) for found in buffers(frame))


def places(parts: Sequence[Part]) -> list[range]:
    """The memory of the parts that a value was encoded as."""
    arrays = [np.frombuffer(part, np.uint8) for part in parts if len(part)]
    return [range(one.ctypes.data, one.ctypes.data + one.nbytes) for one in arrays]


def mapped(path: Path) -> list[range]:
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    bounds = [line[0].split("-") for line in lines if line[-1] == str(path)]
    return [range(int(begin, 16), int(end, 16)) for begin, end in bounds]


def as_pickle(value: Any) -> list[Part]:
    return encode_parts(value, "pickle")


def as_cloudpickle(value: Any) -> list[Part]:
    return encode_parts(value, "cloudpickle")


def as_argument(value: Any) -> list[Part]:
    """As an argument of a call."""
    function: Any = None
    return pickle_value(value, InputCollector((function,)), "frame")


def stored(parts: Sequence[Part], folder: Path) -> Path:
    (folder / "stored").write_bytes(b"".join(parts))
    return folder / "stored"


def travelled(value: Any, content_type: str = "pickle") -> Any:
    return decode_value(b"".join(encode_parts(value, content_type)), content_type)


@pytest.mark.parametrize("encode", [as_pickle, as_cloudpickle, as_argument])
def test_no_buffer_is_copied_when_a_frame_is_written_or_read(
    tmp_path: Path, encode: Encode
) -> None:
    frame = a_frame()
    parts = encode({"deep": [frame]})
    large = [one for one in buffers(frame) if len(one) >= LARGE]
    assert len(large) >= 3
    assert all(any(one.start in place for place in places(parts)) for one in large)

    path = stored(parts, tmp_path)
    loaded = decode_value(map_file(path), "pickle")["deep"][0]

    assert loaded.equals(frame)
    assert loaded.schema == frame.schema
    inside = [one for one in buffers(loaded) if len(one) >= LARGE]
    assert len(inside) == len(large)
    assert all(any(one.start in place for place in mapped(path)) for one in inside)


def test_a_series_keeps_its_name_and_is_mapped(tmp_path: Path) -> None:
    series = pl.Series("distance", np.arange(ROWS) / 3)
    path = stored(encode_parts(series, "pickle"), tmp_path)

    loaded = decode_value(map_file(path), "pickle")

    assert loaded.name == "distance"
    assert loaded.equals(series)
    assert copied(loaded.to_frame(), mapped(path)) == 0


def test_a_frame_of_several_chunks_is_not_joined(tmp_path: Path) -> None:
    frame = pl.concat([pl.DataFrame({"a": np.arange(ROWS)})] * 3, rechunk=False)
    path = stored(encode_parts(frame, "pickle"), tmp_path)

    loaded = decode_value(map_file(path), "pickle")

    assert (loaded.n_chunks(), copied(loaded, mapped(path))) == (3, 0)
    assert loaded.equals(frame)


def test_any_unpickler_reads_it() -> None:
    frame = a_frame()

    assert pickle.loads(b"".join(encode_parts(frame, "pickle"))).equals(frame)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", "b"] * ROWS).cast(pl.Categorical),
        pl.Series(["a", "b"] * ROWS).cast(pl.Enum(["a", "b", "c"])),
        pl.Series([date(2020, 1, 1)] * 2 * ROWS),
        pl.Series([time(1)] * ROWS),
        pl.Series([timedelta(1)] * ROWS),
        pl.Series([[1, 2]] * ROWS),
        pl.Series([[1, 2]] * ROWS, dtype=pl.Array(pl.Int16, 2)),
        pl.Series([{"x": 1, "y": "one"}] * ROWS),
        pl.Series(["1.25"] * ROWS).cast(pl.Decimal(10, 2)),
        pl.Series([b"bytes"] * ROWS * 2),
        pl.Series([1] * ROWS, dtype=pl.Int128),
        pl.Series([True, None] * ROWS * 8),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_column_of_any_type_is_what_it_was(column: pl.Series) -> None:
    frame = column.to_frame("column")

    value: Any
    for value in (frame, frame.to_series()):
        loaded = travelled(value)
        assert type(loaded) is type(value)
        assert loaded.equals(value)
    assert travelled(frame).schema == frame.schema


def test_a_slice_of_texts_does_not_take_the_others_along() -> None:
    texts = pl.DataFrame({"text": [f"the text of row {number}" for number in range(100_000)]})
    part = texts[1000:20_000]

    parts = encode_parts(part, "pickle")

    assert sum(map(len, parts)) < sum(map(len, encode_parts(texts, "pickle"))) / 3
    assert decode_value(b"".join(parts), "pickle").equals(part)


@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_small_frames_and_those_without_pyarrow_travel_as_polars_has_them(
    monkeypatch: pytest.MonkeyPatch, content_type: str
) -> None:
    small = pl.DataFrame({"a": [1, 2, 3]})
    assert len(encode_parts(small, content_type)) == 1
    assert travelled(small, content_type).equals(small)

    monkeypatch.setattr(polars_frames, "find_spec", no_such_package)
    frame = a_frame()
    assert b"pyarrow" not in b"".join(encode_parts(frame, content_type))
    assert travelled(frame, content_type).equals(frame)


def no_such_package(name: str) -> None:
    assert importlib.util.find_spec(name) is not None  # else the test shows nothing


def test_a_frame_of_python_objects_is_refused_as_polars_does_it() -> None:
    frame = pl.DataFrame({"a": pl.Series([object()] * ROWS, dtype=pl.Object)})
    with pytest.raises(Exception) as plain:  # noqa: PT011 # whatever polars says
        pickle.dumps(frame)

    with pytest.raises(type(plain.value)) as ours:
        encode_parts(frame, "cloudpickle")
    assert str(ours.value) == str(plain.value)
