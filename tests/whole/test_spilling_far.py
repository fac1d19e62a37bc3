"""More results than the disk may have lie in a far store: real daemons, a real S3 server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import fsspec.asyn
import pytest

from rain.client import Client, OutputDir, remote, tasks
from rain.files.systems import system_of
from tests.support.s3 import S3, s3_server
from tests.support.waiting import until_now
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole

fsspec.asyn.get_loop()  # its thread stays from then on

BUDGET, SIZE, COUNT = 30_000_000, 3_000_000, 40


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Generator[S3, None, None]:
    with s3_server(tmp_path_factory.mktemp("s3")) as made:
        yield made


def produce(number: int) -> bytes:
    return number.to_bytes(4, "big") * (SIZE // 4)


def first(data: bytes) -> int:
    return int.from_bytes(data[:4], "big")


def options(url: str) -> tuple[str, ...]:
    return ("--disk", f"{BUDGET}", "--store", "0", "--spill-to", url)


def all_in(url: str, storage: dict[str, object]) -> list[str]:
    system, path = system_of(url, storage)
    system.invalidate_cache(path)
    return [str(name) for name in system.find(path, detail=False)]


def files_in(url: str, storage: dict[str, object]) -> list[str]:
    """Without the one that says that a governor has begun."""
    return [name for name in all_in(url, storage) if not name.endswith("/begun")]


def results_come_back(tmp_path: Path, url: str, storage: dict[str, object]) -> None:
    """Four budgets of results are kept, read by tasks and by the client, and then go."""
    work = tmp_path / "one-work"
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, *options(url)) as running,
        Client("127.0.0.1", serving.port) as client,
    ):
        pieces = [client.submit(produce, number) for number in range(COUNT)]
        client.wait(pieces)
        there = sum(file.stat().st_size for file in (work / "data").iterdir())
        assert there <= BUDGET
        assert len(files_in(url, storage)) >= COUNT - BUDGET // SIZE

        # A client reads the oldest ones where they are, and tasks have them brought back.
        assert [piece.result() for piece in pieces[:3]] == [produce(number) for number in range(3)]
        assert [client.submit(first, piece).result() for piece in pieces] == [*range(COUNT)]

        # Files go with their objects.
        del pieces
        until_now(lambda: not files_in(url, storage))
        assert running.process.poll() is None
    assert not [name for name in all_in(url, storage) if "rain-spilled" in name]


def test_results_are_kept_in_a_folder(tmp_path: Path) -> None:
    results_come_back(tmp_path, f"{tmp_path / 'slow'}", {})


def test_results_are_kept_in_an_object_store(
    tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    results_come_back(tmp_path, f"s3://{s3.bucket}/spilled", s3.options())


@remote(outputs=[OutputDir("made")])
def make_directory(ctx: Any, number: int) -> Any:
    folder = Path("made", "deep")
    folder.mkdir(parents=True)
    (folder / "data").write_bytes(produce(number))
    Path("made", "name").write_text(f"directory {number}", encoding="utf-8")
    return ctx.stage_directory("made")


def test_directories_are_kept_there_too_and_come_back_when_they_are_read(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 2, *options(f"{slow}")),
        Client("127.0.0.1", serving.port) as client,
        client.new_session("directories", default=True) as session,
    ):
        made = [make_directory(number) for number in range(COUNT // 2)]
        session.keep_all()
        session.submit()
        session.wait_all()
        assert len(files_in(f"{slow}", {})) >= COUNT // 2 - BUDGET // SIZE

        # A range of a file is read where it is, all of it by a client, and by a task here.
        oldest, *_, newest = made
        assert oldest.output.fetch_range(0, 9, "name") == b"directory"
        assert oldest.output.fetch_range(4, 8, "deep/data") == produce(0)[4:8]
        for task in (oldest, newest):
            part = tasks.SliceDirectory(task, "deep/data")
            part.output.keep()
            session.submit()
            number = made.index(task)
            assert part.output.fetch().get_bytes() == produce(number)
    assert not [*slow.iterdir()]


def test_what_a_killed_governor_has_left_goes_at_the_next_start(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    with server(tmp_path) as serving, Client("127.0.0.1", serving.port) as client:
        with governor(tmp_path, "one", serving.address, 2, *options(f"{slow}")) as one:
            pieces = [client.submit(produce, number) for number in range(COUNT // 2)]
            client.wait(pieces)
            assert files_in(f"{slow}", {})
            (left,) = slow.iterdir()
            one.process.kill()
            one.process.wait()
        with governor(tmp_path, "two", serving.address, 2, *options(f"{slow}")):
            assert not left.exists()
            assert pieces[0].result() == produce(0)  # it was made again
    assert not [*slow.iterdir()]


def test_a_place_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    work, logs = tmp_path / "work", tmp_path / "logs"
    command = [sys.executable, "-m", "rain", "governor", "1", "--workdir", f"{work}"]
    where = ("--logdir", f"{logs}", "--spill-to", f"{tmp_path}/file/below")
    ended = subprocess.run([*command, *where], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "--spill-to cannot be used" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not work.exists()
