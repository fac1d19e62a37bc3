"""Of many equal calls one hangs: it is run once more elsewhere, and its first run ends."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from rain.client import Client

pytestmark = pytest.mark.whole

MANY = 12
HANGS = 7
LARGE = 300_000
"""Bytes of a result that stays with its governor."""


def work(number: int, folder: Path, size: int) -> bytes:
    """Hangs in its first run for this number, until somebody interrupts it."""
    if number == HANGS:
        try:
            os.close(os.open(folder / "begun", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass  # it is the second run
        else:
            try:
                time.sleep(3600)
            finally:
                (folder / "interrupted").touch()
    return bytes([number]) * size


@pytest.fixture(scope="module")
def client() -> Generator[Client, None, None]:
    with Client(governors=2, cpus=4) as client:
        yield client


@pytest.mark.parametrize("size", [1, LARGE])
def test_a_call_that_hangs_is_finished_elsewhere(client: Client, tmp_path: Path, size: int) -> None:
    with client.session("late", idempotent=True) as session:
        futures = session.map(work, range(MANY), [tmp_path] * MANY, [size] * MANY)
        assert client.gather(futures) == [bytes([number]) * size for number in range(MANY)]
        first, second, *_ = futures[HANGS].info().runs
        assert (first.state, first.cause) == ("withdrawn", "outrun")
        assert second.state == "finished"
        assert first.governor != second.governor
    while not (tmp_path / "interrupted").exists():  # by then, or it stands here
        time.sleep(0.01)
