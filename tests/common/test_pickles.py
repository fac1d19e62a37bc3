"""Large buffers of pickles are looked at where they are; to others they are plain pickles."""

import mmap
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.common.data_instance import DataInstance
from rain.common.pickles import ALIGNMENT, LARGE, SMALL, Dump, dump_parts, load
from rain.stream.mapping import map_file
from tests.support.effort import examples

Array = npt.NDArray[Any]
cloudpickle: Any = import_module("cloudpickle")  # it is not annotated
pa: Any = import_module("pyarrow")  # nor is this
DUMPS: list[Dump] = [pickle.dumps, cloudpickle.dumps]


def joined(value: Any, dump: Dump = pickle.dumps) -> bytes:
    return b"".join(dump_parts(dump, value, 5))


def a_large_array(seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(LARGE // 8)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal, arrays in them included."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is np.ndarray:
        return bool(a.dtype == b.dtype and np.array_equal(a, b))
    if kind in {list, tuple}:
        return len(a) == len(b) and all(map(same, a, b))
    if kind is dict:
        return list(a) == list(b) and same(list(a.values()), list(b.values()))
    return bool(a == b)


def lies_in(array: Array, view: memoryview) -> bool:
    return np.shares_memory(array, np.frombuffer(view, np.uint8))


def a_map(data: bytes, folder: Path) -> memoryview:
    (folder / "mapped").write_bytes(data)
    return map_file(folder / "mapped")


def owner(array: Any) -> object:
    """What has the memory of an array."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj


def test_many_smaller_buffers_are_mapped_from_the_size_on_that_one_buffer_must_have(
    tmp_path: Path,
) -> None:
    value = [np.full(SMALL // 8, number) for number in range(9)] + [np.arange(10)] * 20
    view = a_map(joined(value), tmp_path)

    loaded = load(view)

    assert same(loaded, value)
    assert LARGE // SMALL < 9
    assert {type(owner(array)) for array in loaded[:9]} == {mmap.mmap}
    assert same(pickle.loads(view), value)


def test_buffers_that_are_large_together_are_written_once() -> None:
    value = [np.full(SMALL // 8, number) for number in range(12)] + [np.arange(10)] * 20

    assert len(joined(value)) < 12 * SMALL + 2 * 20 * 80 + 4000


def test_fewer_smaller_buffers_are_an_ordinary_pickle() -> None:
    value = [np.full(SMALL // 8, number) for number in range(LARGE // SMALL)]

    assert joined(value) == pickle.dumps(value, 5)


@pytest.mark.parametrize("dump", DUMPS)
def test_any_unpickler_reads_it_and_ours_copies_nothing(dump: Dump, tmp_path: Path) -> None:
    array, other = a_large_array(), np.asfortranarray(a_large_array(1).reshape(4, -1))
    value = {"a": array, "deep": [1, ("text", other)], "again": array, "small": np.arange(5)}
    data = joined(value, dump)

    plain, ours = pickle.loads(data), load(a_map(data, tmp_path))

    assert same(plain, value)
    assert same(ours, value)
    assert ours["a"] is ours["again"]
    assert type(owner(ours["a"])) is mmap.mmap
    assert type(owner(ours["deep"][1][1])) is mmap.mmap
    assert ours["deep"][1][1].flags.f_contiguous


@pytest.mark.parametrize("count", [10, LARGE // 8, 2 * LARGE])
def test_what_is_loaded_may_be_changed_whatever_its_size(count: int, tmp_path: Path) -> None:
    data = joined([np.zeros(count)])
    (tmp_path / "file").write_bytes(data)
    in_file = DataInstance(path=tmp_path / "file", content_type="pickle")
    mapped = DataInstance(data=map_file(tmp_path / "file"), content_type="pickle")
    in_memory = DataInstance(data=data, content_type="pickle")
    looked_at = DataInstance(data=memoryview(data), content_type="pickle")

    for instance in (in_file, mapped, in_memory, looked_at):
        (first,), (second,) = instance.load(), instance.load()
        first[:] = 1
        assert first.sum() == count
        assert second.sum() == 0
        assert instance.load()[0].sum() == 0
        assert instance.get_bytes() == data
        assert instance.get_view() == data
    assert (tmp_path / "file").read_bytes() == data


def test_the_parts_of_a_large_value_are_not_copied_from_it() -> None:
    array = a_large_array()
    parts = dump_parts(pickle.dumps, [array], 5)
    assert sum(len(part) for part in parts if isinstance(part, bytes)) < 1000
    assert [lies_in(array, part) for part in parts if isinstance(part, memoryview)] == [True]


def test_buffers_are_aligned_in_the_file() -> None:
    ends = 0
    for part in dump_parts(pickle.dumps, [a_large_array(seed) for seed in range(3)], 5):
        if isinstance(part, memoryview):
            assert ends % ALIGNMENT == 0
        ends += len(part)


def test_a_buffer_that_may_only_be_read_stays_so_everywhere(tmp_path: Path) -> None:
    array = a_large_array()
    array.flags.writeable = False
    data = joined(array)
    for loaded in (pickle.loads(data), load(data), load(a_map(data, tmp_path))):
        assert not loaded.flags.writeable
        assert same(loaded, array)


def test_small_values_are_the_pickles_that_they_always_were() -> None:
    for value in ([1, 2], np.arange(10), "x" * LARGE, a_large_array()[::2]):
        assert joined(value) == pickle.dumps(value, 5)
        assert same(load(joined(value)), value)


def test_what_would_take_long_to_look_through_is_a_plain_pickle() -> None:
    value = [a_large_array(), list(range(500_000))]
    assert same(pickle.loads(joined(value)), value)
    assert same(load(joined(value)), value)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 3).map(a_large_array), st.binary(max_size=300), st.text(max_size=20)
        ),
        max_size=6,
    )
)
def test_any_mixture_is_loaded_alike(value: list[Any]) -> None:
    data = joined(value)
    assert same(pickle.loads(data), value)
    assert same(load(data), value)


@pytest.mark.parametrize("cut", [1, 8, 20, 40])
def test_a_pickle_whose_end_was_changed_is_still_a_pickle(cut: int) -> None:
    array = a_large_array()
    data = joined(array)
    changed = data[:-cut] + b"rainview"
    assert same(load(changed), array)


def test_an_instance_in_a_file_is_loaded_without_a_copy(tmp_path: Path) -> None:
    array = a_large_array()
    (tmp_path / "file").write_bytes(joined(array))
    instance = DataInstance(path=tmp_path / "file", content_type="pickle")

    found = instance.load()

    assert same(found, array)
    assert type(owner(found)) is mmap.mmap
    view = instance.get_view()
    assert isinstance(view.obj, mmap.mmap)
    assert view.readonly
    (tmp_path / "file").unlink()
    assert same(found, array)
    assert pickle.loads(instance.get_bytes())[0] == array[0]


def test_the_view_of_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert DataInstance(path=tmp_path / "file").get_view().nbytes == 0


def addresses(table: Any) -> list[int]:
    """Where the columns of a table lie."""
    columns = [table.column(name).chunk(0) for name in table.column_names]
    return [found.address for column in columns for found in column.buffers() if found is not None]


def mapped(path: Path) -> list[range]:
    """The addresses at which this process has mapped a file."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    bounds = [line[0].split("-") for line in lines if line[-1] == str(path)]
    return [range(int(begin, 16), int(end, 16)) for begin, end in bounds]


@pytest.mark.parametrize("is_pandas", [True, False])
def test_tables_of_pandas_and_arrow_are_mapped(tmp_path: Path, is_pandas: bool) -> None:
    """Numbers and texts: nothing of a column is copied."""
    rows = LARGE // 4  # the places of the texts take 4 bytes each
    texts = pa.array([f"row {number}" for number in range(rows)])
    table = pa.table({"number": pa.array(np.arange(rows)), "text": texts})
    value = table.to_pandas() if is_pandas else table
    view = a_map(joined(value), tmp_path)

    loaded = load(view)

    assert loaded.equals(value)
    found = pa.Table.from_pandas(loaded) if is_pandas else loaded
    ranges = mapped(tmp_path / "mapped")
    assert all(any(address in one for one in ranges) for address in addresses(found))
