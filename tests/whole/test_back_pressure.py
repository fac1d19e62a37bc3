"""More data than a governor may keep on its disk passes through it, with real daemons."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from rain.client import Client
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
