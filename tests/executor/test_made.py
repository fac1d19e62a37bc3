"""What an executor keeps of what it has made: how much, and what goes first."""

import pytest

from rain.base.executor_protocol import BYTES, FILE, CallInput
from rain.executor import memory
from rain.executor.memory import RecentOutputs


def wanted(object_id: int) -> list[int | CallInput]:
    return [CallInput(object_id, 1, "", "", 0, None)]


def test_the_oldest_outputs_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OUTPUTS_AT_MOST", 3)
    kept = RecentOutputs()
    for output in range(5):
        kept.keep([output], [b"data"])
    assert [kept.complete(wanted(output)) for output in range(5)] == [False] * 2 + [True] * 3


def test_the_bytes_are_bounded_and_counted_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BYTES_AT_MOST", 10)
    kept = RecentOutputs()
    for _ in range(100):
        kept.keep([1], [b"12345"])
        kept.forget([1])
    kept.keep([2, 3], [b"12345", b"12345"])
    assert kept.complete(wanted(2))
    kept.keep([4], [b"1"])
    assert [kept.complete(wanted(output)) for output in (2, 3, 4)] == [False, True, True]


def test_bytes_with_notes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BYTES_AT_MOST", 10)
    kept = RecentOutputs()
    kept.keep([1, 2, 3], [[BYTES, b"12345", "text", "{}"]] * 3)
    assert [kept.complete(wanted(output)) for output in (1, 2, 3)] == [False, True, True]


def test_files_are_not_kept_and_what_has_content_is_left_alone() -> None:
    kept = RecentOutputs()
    kept.keep([1, 2], [[FILE, "/stage/1", "", ""], [BYTES, b"data", "text", "{}"]])
    assert not kept.complete(wanted(1))
    inputs: list[int | CallInput] = [7, CallInput(3, 1, "", "", 1, b"x"), *wanted(2)]
    assert kept.complete(inputs)
    assert inputs == [
        7,
        CallInput(3, 1, "", "", 1, b"x"),
        CallInput(2, 1, "text", "{}", 4, b"data"),
    ]
