"""Files are copied by the kernel, also between two filesystems."""

import errno
import os
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import pytest

from rain.stream.copying import copy_bytes
from tests.support.filesystems import another_filesystem


@pytest.fixture
def source(tmp_path: Path) -> Generator[int]:
    path = tmp_path / "source"
    path.write_bytes(bytes(range(256)) * 1000)
    with path.open("rb") as file:
        yield file.fileno()


@pytest.mark.parametrize("said", [errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, None])
def test_a_file_is_copied_whatever_the_kernel_can(
    source: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: int | None
) -> None:
    def refuse(*_: int) -> NoReturn:
        assert said is not None
        raise OSError(said, os.strerror(said))

    if said is not None:
        monkeypatch.setattr(os, "copy_file_range", refuse)
    with (tmp_path / "target").open("wb") as target:
        copy_bytes(source, target.fileno(), 256_000)
    assert (tmp_path / "target").read_bytes() == bytes(range(256)) * 1000


def test_a_file_is_copied_to_another_filesystem(source: int) -> None:
    with another_filesystem() as folder:
        with (folder / "target").open("wb") as target:
            copy_bytes(source, target.fileno(), 256_000)
        assert (folder / "target").read_bytes() == bytes(range(256)) * 1000


def test_a_file_that_is_shorter_than_was_said_is_no_endless_copy(
    source: int, tmp_path: Path
) -> None:
    with (
        (tmp_path / "target").open("wb") as target,
        pytest.raises(OSError, match="the file has 1000 bytes fewer than expected"),
    ):
        copy_bytes(source, target.fileno(), 257_000)


def test_other_errors_are_told(source: int, tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    with (tmp_path / "target").open("rb") as target, pytest.raises(OSError, match="Bad file"):
        copy_bytes(source, target.fileno(), 10)
