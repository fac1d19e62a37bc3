"""Arrays among the arguments of calls by joblib: uploaded once, or files that calls write."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client import Client
from rain.client.for_joblib.backend import RainBackend
from rain.client.for_joblib.bundle import UploadedArrays, bundled
from rain.common.bundles import call_bundle
from tests.adapters.joblib_calls import call, parallel

pytestmark = pytest.mark.whole

LARGE = 100_000  # numbers: 800 kB


def item(array: Any, place: int) -> tuple[float, bool]:
    """An item of an array, and whether the memory of the array is a mapped file."""
    address = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        start, end = (int(bound, 16) for bound in line.split()[0].split("-"))
        if start <= address < end:
            return float(array[place]), "/" in line
    raise LookupError(address)


def put_into(array: Any, place: Any, value: float) -> None:
    array[place] = value


def test_a_large_array_is_uploaded_once_and_mapped(
    backend: RainBackend, puts: list[object]
) -> None:
    array = np.arange(float(LARGE))

    found = parallel(call(item, array, place) for place in range(50))

    assert found == [(float(place), True) for place in range(50)]
    assert len(puts) == 1


def test_new_views_of_the_same_memory_are_the_same_array(
    backend: RainBackend, puts: list[object]
) -> None:
    array = np.arange(2.0 * LARGE)

    found = parallel(call(item, {"deep": [array[LARGE:]]}["deep"][0], x) for x in range(10))

    assert [value for value, _ in found] == [float(LARGE + x) for x in range(10)]
    assert len(puts) == 1


@pytest.mark.parametrize("mode", ["r+", "w+"])
def test_what_calls_write_into_a_mapped_file_is_in_the_file(
    backend: RainBackend, tmp_path: Path, puts: list[object], mode: Any
) -> None:
    path = tmp_path / "sums"
    np.arange(2.0 * LARGE).tofile(path)
    sums = np.memmap(path, np.float64, mode, shape=(LARGE, 2))

    parallel(call(put_into, sums, (place, 1), -1.0) for place in range(20))
    parallel(call(put_into, sums[20::-2, 0], place, -2.0) for place in range(3))  # of a view

    assert list(sums[:20, 1]) == [-1.0] * 20
    assert list(sums[20:14:-2, 0]) == [-2.0] * 3
    assert not puts


def test_a_mapped_file_that_a_machine_does_not_have_is_named(
    client: Client, backend: RainBackend, tmp_path: Path
) -> None:
    path = tmp_path / "sums"
    data, values = bundled(
        partial(put_into, np.memmap(path, np.float64, "w+", shape=10), 0, 1.0),
        UploadedArrays(),
        client.put,
    )
    path.write_bytes(b"another file")

    with pytest.raises(FileNotFoundError, match=r"sums'.*common file system, or .* mode='r'"):
        call_bundle(data, *values)
    assert path.read_bytes() == b"another file"


def test_an_array_that_was_changed_between_two_calls_is_sent_anew(backend: RainBackend) -> None:
    array = np.zeros(LARGE)
    assert parallel([call(item, array, 0)] * 2) == [(0.0, True)] * 2

    array[0] = 1.0

    assert parallel([call(item, array, 0)] * 2) == [(1.0, True)] * 2


def test_the_array_of_a_call_that_is_over_is_not_held(
    client: Client, backend: RainBackend, puts: list[object]
) -> None:
    array = np.zeros(LARGE)
    gone = weakref.ref(array)

    parallel([call(item, array, 0)] * 2)
    puts.clear()
    del array
    gc.collect()

    assert gone() is None
