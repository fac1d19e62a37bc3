"""Large constants of a client are files from the moment at which they are given."""

from __future__ import annotations

import os
import pickle
from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rain.client import Session, blob
from rain.client.sent.function import SentFunction
from rain.client.staging import bytes_of, digest_of, encode_constant, is_same
from rain.common.imports import pickle_in
from rain.common.pickles import load
from rain.stream import staged
from rain.stream.staged import STAGED_FROM, Staged, stage
from tests.client.fake import World, world

LARGE = STAGED_FROM // 8


class Staging:
    """Every file that a client has made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lengths: list[int] = []

    def stage(self, parts: Sequence[bytes | memoryview]) -> Staged | None:
        self.lengths.append(sum(map(len, parts)))
        return stage(str(self.folder), parts)


@pytest.fixture
def here() -> Generator[World]:
    with world() as made:
        yield made


@pytest.fixture
def staging(here: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Staging:
    made = Staging(tmp_path)
    monkeypatch.setattr(here.server, "stage", made.stage)
    return made


def test_a_value_is_taken_when_it_is_given(here: World, staging: Staging) -> None:
    array = np.zeros(LARGE)
    with here.client.new_session("given") as session:
        data = encode_constant(session, array, "pickle")
    array[:] = 1
    assert isinstance(data, Staged)
    assert not load(bytes_of(data)).any()


def test_small_values_stay_in_memory(here: World, staging: Staging) -> None:
    with here.client.new_session("small") as session:
        assert isinstance(encode_constant(session, bytes(1000), "pickle"), bytes)
    assert not staging.lengths


def test_nothing_is_staged_for_a_session_without_a_client() -> None:
    with Session(None, 1):
        assert isinstance(blob(bytes(STAGED_FROM), encode="pickle").constant, bytes)


def test_equal_arguments_are_one_file_and_others_are_not(here: World, staging: Staging) -> None:
    table, other = np.zeros(LARGE), np.zeros(LARGE)
    other[LARGE // 2] = 1
    futures = [here.client.submit(np.sum, one) for one in (table, table.copy(), other, table)]
    names = [future.task.input_objects[1].packed_id for future in futures if future.task]
    assert names[0] == names[1] == names[3] != names[2]
    assert len(staging.lengths) == 2


def test_nested_values_are_not_joined_in_memory(here: World, staging: Staging) -> None:
    here.client.submit(len, {"table": np.zeros(LARGE)})
    assert len(staging.lengths) == 1


def test_a_comparison_reads_parts_wherever_they_end(tmp_path: Path) -> None:
    data = os.urandom(1_000_000)
    made = stage(str(tmp_path), [data])
    assert made is not None
    assert is_same([data], made)
    assert is_same([data[:7], memoryview(data)[7:600_000], data[600_000:]], made)
    assert not is_same([data[:-1]], made)
    assert not is_same([data[:-1], bytes([data[-1] ^ 1])], made)
    assert digest_of(made) == digest_of(data)


def test_with_too_many_files_values_stay_in_memory(
    here: World, staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged, "MOST_OPEN", 0)
    table = np.zeros(LARGE)
    first, second = here.client.submit(np.sum, table), here.client.submit(np.sum, table)
    assert first.task is not None
    assert second.task is not None
    assert isinstance(first.task.input_objects[1].constant, bytes)
    assert first.task.input_objects[1] is second.task.input_objects[1]


def test_what_a_function_captures_goes_into_a_file_and_can_be_mapped(
    here: World, staging: Staging
) -> None:
    captured = np.ones(LARGE)

    def total() -> float:
        return float(captured.sum())

    with here.client.new_session("captured") as session:
        sent = SentFunction(session, total, "total")
        data = sent.inputs[0].constant
        assert isinstance(data, Staged)
        pickled = pickle_in(bytes_of(data))
        # any unpickler reads it, and ours finds the array in the file
        assert pickle.loads(pickled)() == LARGE
        function = load(memoryview(bytearray(pickled)))
        assert function() == LARGE
        assert not function.__closure__[0].cell_contents.flags.owndata
        # a change in place is noticed
        assert sent.is_current(session, total)
        session.submit()
        captured[0] = 7
        assert not sent.is_current(session, total)
