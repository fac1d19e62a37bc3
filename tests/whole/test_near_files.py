"""Tasks run on the governors that are near to their files, and elsewhere while these are busy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rain.client import Client, File
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


def where(file: File) -> int:
    """The process of the governor that reads it."""
    file.read_bytes()
    return os.getppid()


def waiting(fifo: str) -> None:
    with Path(fifo).open(encoding="ascii") as stream:
        stream.read()


def test_files_are_read_where_they_are_near_unless_that_is_busy(tmp_path: Path) -> None:
    for name in ("eu", "us"):
        (tmp_path / f"{name}.bin").write_bytes(bytes(1000))
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "eu", serving.address, 1, "--resource", "eu=1") as in_eu,
        governor(tmp_path, "us", serving.address, 1, "--resource", "us=1") as in_us,
        Client("127.0.0.1", serving.port) as client,
    ):
        (eu,) = client.open_files(tmp_path / "eu.bin", near="eu")
        (us,) = client.open_files(tmp_path / "us.bin", near=["us", "moon"])
        files = [us, eu, eu, us, us, eu]
        free = [client.submit(where, file).result() for file in files]

        busy = client.options(resources={"eu": 1}).submit(waiting, str(fifo))
        with fifo.open("w", encoding="ascii"):  # opened when the task reads it
            elsewhere = client.submit(where, eu).result()
        busy.result()
    assert free == [{eu: in_eu, us: in_us}[file].process.pid for file in files]
    assert elsewhere == in_us.process.pid
