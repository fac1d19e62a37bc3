"""What tasks print is cut while they print, and nobody notices but the disk."""

from __future__ import annotations

import errno
import os
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio

from rain.common.printed import CUT_FROM, HEAD, TAIL, KeptText, keep, text_of
from rain.executor import printed as of_executor
from rain.governor.machine import cutting
from rain.governor.machine.cutting import cut, cut_all, keep_cutting, open_large
from tests.governor.running import BLOB, Running, governed
from tests.support.pipes import named_pipe
from tests.support.waiting import until

MIB = 1024 * 1024
LINES = b"".join(b"line %9d\n" % number for number in range(8 * MIB // 15))
ON_DISK = HEAD + TAIL + 64 * 1024
"""What may be left of a file that was cut, in whole blocks."""


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


def printed(path: Path) -> tuple[bytes, int]:
    with path.open("rb") as file:
        return keep(file.fileno(), os.fstat(file.fileno()).st_size)


def test_the_middle_leaves_the_disk_and_what_is_kept_stays(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(LINES)
    before = printed(path)
    opened = open_large(path)
    assert opened is not None
    cut_all([opened])
    assert on_disk(path) <= ON_DISK
    assert printed(path) == before
    assert open_large(path) is None, "nothing is left to be cut"


def test_a_task_that_goes_on_printing_notices_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("ab", buffering=0) as writer:
        for _ in range(3):
            writer.write(LINES)
            cut(writer.fileno())
        writer.write(b"the end\n")
    data, size = printed(path)
    assert size == 3 * len(LINES) + 8
    assert data[:HEAD] == LINES[:HEAD]
    assert data[HEAD:].endswith(LINES[-1000:] + b"the end\n")
    assert b"\0" not in data
    assert f"{size - HEAD - TAIL} bytes are left out" in text_of(KeptText(data, size))


def test_what_is_small_or_gone_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(LINES[:CUT_FROM])
    assert open_large(path) is None
    assert open_large(tmp_path / "gone") is None


def test_a_file_that_is_being_emptied_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(LINES)
    with path.open("r+b") as emptied:
        flock(emptied, LOCK_EX)
        opened = open_large(path)
        assert opened is not None
        cut_all([opened])
        assert on_disk(path) >= len(LINES) // 2
        flock(emptied, LOCK_UN)


def test_an_executor_empties_a_large_file_under_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    for path in (out, err):
        path.write_bytes(LINES)
    emptied: list[int] = []
    truncate = os.ftruncate

    def looking(descriptor: int, length: int) -> None:
        opened_anew = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            flock(opened_anew, LOCK_EX | LOCK_NB)
        os.close(opened_anew)
        emptied.append(descriptor)
        truncate(descriptor, length)

    with out.open("r+b") as stdout, err.open("r+b") as stderr:
        monkeypatch.setattr(os, "ftruncate", looking)
        monkeypatch.setattr(of_executor, "STDOUT", stdout.fileno())
        monkeypatch.setattr(of_executor, "STDERR", stderr.fileno())
        assert of_executor.take_printed() is not None
        assert emptied == [stdout.fileno(), stderr.fileno()]
        for path in (out, err):
            with path.open("rb") as other:
                flock(other, LOCK_EX | LOCK_NB)


def test_a_filesystem_without_holes_is_named_once_and_the_governor_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(descriptor: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    path = tmp_path / "out"
    path.write_bytes(LINES)
    monkeypatch.setattr(cutting, "cut", unable)
    monkeypatch.setattr(cutting, "LOOK", 0.0)
    with structlog.testing.capture_logs() as logs:
        trio.run(keep_cutting, lambda: [path], structlog.get_logger())
    (line,) = logs
    assert "holes in files are not supported" in line["event"]


@pytest.mark.whole
def test_a_task_that_prints_much_takes_little_of_the_disk_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "LOOK", 0.01)

    async def scenario(governor: Running) -> None:
        def talk(ctx: Any, pipe: str, lines: bytes) -> None:
            os.write(1, lines)
            with Path(pipe).open() as words:
                words.readline()
            os.write(1, b"the end\n")
            raise ValueError("enough")

        with named_pipe(tmp_path / "pipe") as pipe:
            call = governor.call(governor.function(talk), pipe.path, LINES, outputs=(BLOB,))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(
                    keep_cutting, governor.executors.printing, structlog.get_logger()
                )
                (log,) = await until(lambda: list((tmp_path / "logs").glob("*.out")))
                # What comes after a cut is cut again only when it is as large.
                most = ON_DISK + CUT_FROM
                await until(lambda: log.stat().st_size == len(LINES) and on_disk(log) <= most)
                pipe.say()
                assert (await governor.failure(call)).endswith("the end")
                nursery.cancel_scope.cancel()

    governed(tmp_path, scenario)
