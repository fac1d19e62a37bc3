"""Tables that are put together in files."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.exchange import ListedObject
from rain.base.ids import ObjectId
from rain.common import growing_columns, mapped_columns, pieces, tables
from rain.common.content_type import decode_value, encode_value
from rain.common.growing_columns import FILES, DifferentError
from rain.common.mapped_columns import put_together_in_files
from rain.common.partitioned import Partitioned
from tests.support.parts import read_parts

pandas: Any = import_module("pandas")
pyarrow: Any = import_module("pyarrow")
concat: Any = import_module("dask.dataframe.dispatch").concat
testing: Any = import_module("pandas.testing")

KINDS = [
    *("bytes", "numbers", "flags", "times", "durations"),
    *("zoned", "words", "objects", "kinds", "gaps"),
    *("some words", "python words", "doubts", "parts", "short words", "blobs", "arrow", "dates"),
]
IN_FILES = {*KINDS} - {"objects", "kinds", "python words"}


def with_gaps(rows: int) -> Iterator[str | None]:
    """Words, of which every third is missing and every fifth is empty."""
    for number in range(rows):
        yield None if number % 3 == 1 else "" if number % 5 == 2 else f"w\u00f6rd {number}"


def column(kind: str, rows: int) -> Any:
    numbers = np.arange(rows)
    made: dict[str, Any] = {
        "bytes": numbers.astype("u1"),
        "numbers": numbers * 0.5,
        "flags": numbers % 2 == 0,
        "times": pandas.date_range("2026-01-01", periods=rows, freq="h"),
        "durations": pandas.to_timedelta(numbers, unit="s"),
        "zoned": pandas.date_range("2026-01-01", periods=rows, tz="Europe/Prague"),
        "words": [f"word {number}" for number in range(rows)],
        "objects": pandas.Series([{number} for number in range(rows)], dtype=object),
        "kinds": pandas.Categorical([f"kind {number % 3}" for number in range(rows)]),
        "gaps": pandas.array([None if one % 3 else one for one in range(rows)], dtype="Int64"),
        "some words": pandas.array([*with_gaps(rows)], dtype="string[pyarrow]"),
        "python words": pandas.array([*with_gaps(rows)], dtype="string[python]"),
        "doubts": pandas.array([None if one % 2 else one > 2 for one in range(rows)], "boolean"),
        "parts": pandas.array([None if one % 2 else one / 7 for one in range(rows)], "Float32"),
        "short words": pandas.array([*with_gaps(rows)], pandas.ArrowDtype(pyarrow.string())),
        "blobs": pandas.array(
            [b"x" * one for one in range(rows)], pandas.ArrowDtype(pyarrow.binary())
        ),
        "arrow": pandas.array([None if one == 1 else one for one in range(rows)], "int16[pyarrow]"),
        "dates": pandas.array(
            [datetime.fromtimestamp(one, tz=UTC) for one in range(rows)],
            pandas.ArrowDtype(pyarrow.timestamp("us", "UTC")),
        ),
    }
    return made[kind]


def table(names: list[str], rows: int, start: int = 0) -> Any:
    made = pandas.DataFrame({at: column(name, rows) for at, name in enumerate(names)})
    made.columns = names
    made.index = pandas.Index(np.arange(start + rows, start, -1), name="row")
    return made


def together(some: list[Any]) -> Any:
    with ExitStack() as files:
        return put_together_in_files(some, concat, files)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("task"))


@given(
    st.lists(st.sampled_from(KINDS), max_size=5, unique=True),
    st.lists(st.integers(1, 5), min_size=2, max_size=4),
)
def test_the_result_is_that_of_dask(names: list[str], rows: list[int]) -> None:
    some = [table(names, count, start * 10) for start, count in enumerate(rows)]
    testing.assert_frame_equal(together(some), concat(some))


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_of_any_type_is_that_of_dask(kind: str) -> None:
    if kind == "objects":  # sets are no labels
        return
    for others in (["numbers"], ["kinds", "words"], []):
        some = [
            table(others, rows).set_index(pandas.Index(column(kind, rows), name="label"))
            for rows in (4, 3)
        ]
        made = together(some)
        testing.assert_frame_equal(made, concat(some))
        assert made.index.dtype == some[0].index.dtype


@given(st.sampled_from(sorted(IN_FILES)), st.data())
def test_parts_of_larger_columns_are_put_together(kind: str, data: st.DataObject) -> None:
    """Columns of Arrow's may be cut out of larger ones, and be of several parts."""
    whole = table([kind], 6)
    some: list[Any] = []
    for _ in range(data.draw(st.integers(2, 4))):
        begin, end = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
        some.append(pandas.concat([whole.iloc[begin:end], whole.iloc[end:]]))
        some.append(whole.iloc[begin:end])
    testing.assert_frame_equal(together(some), concat(some))


def test_what_else_an_index_can_be_stays() -> None:
    first = table(["numbers", "words"], 4)
    for name in (["words"], ["words", "numbers"]):
        some = [first.set_index(name, append=True), first.set_index(name, append=True)]
        testing.assert_frame_equal(together(some), concat(some))
    some = [first.set_index(pandas.Index([*"abcd"], name="letter"))] * 2
    testing.assert_frame_equal(together(some), concat(some))


def test_columns_with_the_same_name_stay_apart() -> None:
    some = [table(["numbers", "bytes", "numbers"], 3), table(["numbers", "bytes", "numbers"], 2)]
    testing.assert_frame_equal(together(some), concat(some))


@pytest.mark.parametrize(
    "other",
    [
        table(["numbers"], 2),
        table(["numbers", "numbers"], 2),
        table(["numbers", "words"], 2),
        table(["bytes", "numbers"], 2),
        table(["numbers", "bytes"], 2).reset_index(),
        table(["numbers", "bytes"], 2).rename_axis("other"),
        table(["numbers", "bytes"], 2).set_index(pandas.Index([0.5, 1.5], name="row")),
        table(["numbers", "bytes"], 2).rename(columns={"bytes": "others"}),
    ],
)
def test_tables_that_differ_are_refused(other: Any) -> None:
    with pytest.raises(DifferentError):
        together([table(["numbers", "bytes"], 2), other])


@pytest.mark.parametrize("other", [table(["numbers"], 2)["numbers"], pandas.Index([1, 2])])
def test_what_is_no_table_is_refused(other: Any) -> None:
    with pytest.raises(DifferentError):
        together([other, other])


def mapped_bytes(values: Any) -> int:
    """How many of its bytes lie in a file."""
    base = values
    while isinstance(base, np.ndarray):
        base = base.base
    return values.nbytes if type(getattr(base, "obj", base)).__name__ == "mmap" else 0


def test_numbers_and_their_index_are_no_memory_of_the_task() -> None:
    made = together([table(["numbers", "bytes"], 4), table(["numbers", "bytes"], 4)])
    arrays = [made["numbers"].to_numpy(), made["bytes"].to_numpy(), made.index.to_numpy()]
    assert [mapped_bytes(one) for one in arrays] == [64, 8, 64]


@pytest.mark.parametrize("kind", sorted(IN_FILES))
def test_no_column_that_can_grow_in_files_is_put_together_in_memory(kind: str) -> None:
    def never(_: Any) -> Any:
        raise AssertionError

    some = [table([kind], 3), table([kind], 2)]
    with ExitStack() as files:
        made = put_together_in_files(some, never, files)
    testing.assert_frame_equal(made, concat(some))


def test_strings_and_their_index_are_no_memory_of_the_task() -> None:
    some = [table(["words", "arrow"], 200).set_index("words", drop=False) for _ in range(2)]
    before = pyarrow.total_allocated_bytes()
    made = together(some)
    assert len(made) == 400
    assert pyarrow.total_allocated_bytes() == before


def test_more_bytes_than_a_type_of_strings_can_count_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(growing_columns.MOST_BYTES, "string", 150)
    words = pandas.array(["x" * 100], pandas.ArrowDtype(pyarrow.string()))
    some = [pandas.DataFrame({"word": words})] * 2
    with pytest.raises(DifferentError):
        together(some)


def test_a_change_of_the_result_is_no_change_of_the_file() -> None:
    some = [table(["numbers"], 2), table(["numbers"], 2)]
    made = together(some)
    made.loc[:, "numbers"] = 7.0
    made.iloc[0, 0] = 8.0
    assert made["numbers"].tolist() == [8.0, 7.0, 7.0, 7.0]
    assert together(some)["numbers"].tolist() == [0.0, 0.5, 0.0, 0.5]


def test_so_many_columns_that_descriptors_would_run_out_stay_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mapped_columns, "MOST_FILES", 2 * FILES)
    some = [table(["numbers", "bytes", "flags"], 3), table(["numbers", "bytes", "flags"], 3)]
    made = together(some)
    testing.assert_frame_equal(made, concat(some))
    assert mapped_bytes(made["numbers"].to_numpy())
    assert not mapped_bytes(made["flags"].to_numpy())


def put_together(some: list[Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """As a task that merges does it, with groups of one table."""
    monkeypatch.setattr(tables, "AT_ONCE", 1)
    objects = [encode_value(Partitioned([one], 1), "parts") for one in some]

    class Reader:
        def read(self, part: int, members: Any) -> Any:
            return read_parts(objects, part, members)

    before = pieces.install(Reader())
    try:
        members = [ListedObject(ObjectId(at), 1, "here:1") for at in range(len(some))]
        return tables.put_together(members, 0, "nothing")
    finally:
        pieces.install(before)


def test_a_task_reads_its_pieces_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [table(["numbers", "words"], count, count) for count in (3, 2, 4)]
    made = put_together(some, monkeypatch)
    testing.assert_frame_equal(made, concat(some))
    assert mapped_bytes(made["numbers"].to_numpy())
    assert put_together(some[:1], monkeypatch).equals(some[0])
    assert put_together([], monkeypatch) == "nothing"


@given(st.lists(st.sampled_from(KINDS), max_size=3, unique=True), st.data())
def test_rows_of_a_large_table_are_split_as_pandas_groups_them(
    names: list[str], data: st.DataObject
) -> None:
    places = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=12))
    whole = table(names, len(places)).assign(part=places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "AT_ONCE", 100)
        split = tables.rows_by_part(whole, "part", {0, 1, 3})
    loaded = decode_value(encode_value(split, "parts"), "parts")
    assert loaded.keys() == {0, 1, 3} & {*places}
    for part, rows in loaded.items():
        testing.assert_frame_equal(rows, whole.groupby("part").get_group(part))


@pytest.mark.parametrize("kind", ["int64", "uint8", "float64", "Int64", "object"])
def test_a_column_that_says_the_part_comes_back_as_it_was(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "AT_ONCE", 1)
    whole = table(["numbers"], 4)
    whole.insert(0, "part", pandas.array([1, 0, 1, 1], kind))
    split = tables.rows_by_part(whole, "part", {0, 1})
    loaded = decode_value(encode_value(split, "parts"), "parts")
    for part, rows in loaded.items():
        testing.assert_frame_equal(rows, whole.groupby("part").get_group(part))


def test_the_column_that_says_the_part_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "AT_ONCE", 1)
    count = 10_000
    whole = table(["numbers"], count).assign(part=1)
    written = encode_value(tables.rows_by_part(whole, "part", {1}), "parts")
    assert len(written) < 2 * 8 * count + 2000  # the numbers and the index


@pytest.mark.parametrize(
    ("numbers", "most", "bits"),
    [([0, 65535], 3, 16), ([0, 65536], 3, 64), ([0, 1], 65536, 64), ([-1, 1], 3, 64), ([], 3, 64)],
)
def test_numbers_of_parts_are_sorted_as_few_bits(numbers: list[int], most: int, bits: int) -> None:
    places = np.array(numbers, np.int64)
    made = tables.narrow(places, most)
    assert made.tolist() == numbers
    assert made.dtype.itemsize * 8 == bits
    assert tables.narrow(np.array([0.5]), 1).tolist() == [0.5]


def test_what_a_large_table_is_split_into_is_made_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = table(["numbers", "words"], 6).assign(part=[0, 1, 0, 1, 0, 1])
    monkeypatch.setattr(tables, "AT_ONCE", 1)
    split = tables.rows_by_part(whole, "part", {0, 1})
    assert split.size >= 6 * 3 * 8
    assert split.pieces[0] is not split.pieces[0]


def test_pieces_that_differ_are_put_together_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [table(["bytes", "words"], 3), table(["words"], 3), table(["numbers"], 1)]
    testing.assert_frame_equal(put_together(some, monkeypatch), concat(some))


def test_where_no_file_can_be_made_memory_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    some = [table(["numbers"], 3), table(["numbers"], 3)]
    made = put_together(some, monkeypatch)
    testing.assert_frame_equal(made, concat(some))
    assert not mapped_bytes(made["numbers"].to_numpy())
