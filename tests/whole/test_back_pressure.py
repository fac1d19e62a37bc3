"""More data than a governor may keep on its disk passes through it, with real daemons."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from rain.client import Client, Future, RainWarning, TaskException
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole

BUDGET, SIZE, COUNT = 30_000_000, 3_000_000, 100


def produce(number: int) -> bytes:
    return number.to_bytes(4, "big") * (SIZE // 4)


def consume(data: bytes, store: str) -> tuple[int, int]:
    """What it has read, and how much its governor has on the disk meanwhile."""
    there = 0
    for file in Path(store).iterdir():
        with suppress(FileNotFoundError):  # others may end just now
            there += file.stat().st_size
    return int.from_bytes(data[:4], "big"), there


def test_ten_times_as_much_as_the_disk_may_have_passes_through_it(tmp_path: Path) -> None:
    work = tmp_path / "work"
    options = ("--disk", f"{BUDGET}", "--store", "0", "--workdir", f"{work}")
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, *options),
        Client("127.0.0.1", serving.port) as client,
    ):
        pieces = [client.submit(produce, number) for number in range(COUNT)]
        calls = [client.submit(consume, piece, f"{work}/data") for piece in pieces]
        del pieces
        read = [call.result() for call in calls]
    assert [number for number, _ in read] == [*range(COUNT)]
    assert max(there for _, there in read) <= BUDGET


def test_a_program_that_waits_for_room_on_the_disk_hears_that_only_it_can_make_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    held: list[Future[bytes]] = []

    def hear(message: Warning | str, *_: object) -> None:
        heard.append(str(message))
        held.clear()

    monkeypatch.setattr(warnings, "showwarning", hear)
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, "--disk", f"{BUDGET}", "--store", "0"),
        Client("127.0.0.1", serving.port) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always", RainWarning)
        held += [client.submit(produce, number) for number in range(BUDGET // SIZE + 1)]
        last = client.submit(produce, 100)
        assert last.result() == produce(100)
    (text,) = heard
    assert re.match(r"tasks wait for room on the disk of 127\.0\.0\.1:\d+, and nothing there", text)
    assert "let go of futures" in text


def produce_much(size: int) -> bytes:
    return bytes(size)


def test_what_is_larger_than_one_disk_is_made_at_another_and_what_none_may_have_fails(
    tmp_path: Path,
) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "small", serving.address, 1, "--disk", f"{BUDGET}", "--store", "0"),
        governor(tmp_path, "large", serving.address, 1, "--disk", f"{3 * BUDGET}", "--store", "0"),
        Client("127.0.0.1", serving.port) as client,
    ):
        made = client.submit(produce_much, 2 * BUDGET)
        assert client.submit(len, made).result() == 2 * BUDGET
        del made
        with pytest.raises(TaskException, match=r"what the task has made has 115MiB"):
            client.submit(produce_much, 4 * BUDGET + BUDGET // 50).result()
        given = client.put(bytes(4 * BUDGET))
        with pytest.raises(TaskException, match=r"what the task reads has 114\.4MiB"):
            client.submit(len, given).result()
