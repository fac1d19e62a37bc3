"""Staging: files and directories that a task has made and wants to return."""

from __future__ import annotations

import errno
import itertools
from typing import TYPE_CHECKING

from rain.base.shortage import OwnFiles, ShortageError
from rain.common.errors import RainException

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from rain.common.data_instance import DataInstance

_numbers = itertools.count(1)


def new_path(stage_folder: str) -> str:
    """Returns an unused path in the stage folder."""
    return f"{stage_folder}/{next(_numbers)}"


def stage_parts(stage_folder: str, parts: Sequence[bytes | memoryview]) -> str:
    """Writes these parts to a file without joining them in memory first."""
    path = new_path(stage_folder)
    try:
        with (
            OwnFiles(f"cannot write into {stage_folder}"),
            open(path, "wb") as file,  # noqa: PTH123 # pathlib starts slowly
        ):
            file.writelines(parts)
    except ShortageError:
        raise
    except OSError as error:
        raise RainException(f"cannot write into {stage_folder}: {error.strerror}") from None
    return path


def stage(stage_folder: str, path: str, content_type: str | None, is_folder: bool) -> DataInstance:
    """Moves a path (relative to the task's folder) to the stage folder."""
    from pathlib import Path, PurePath  # noqa: PLC0415 # see the package

    from rain.common.content_type import check_content_type  # noqa: PLC0415
    from rain.common.data_instance import DataInstance  # noqa: PLC0415
    from rain.common.data_type import DataType  # noqa: PLC0415

    check_content_type(content_type)
    relative = PurePath(path)
    if relative.is_absolute() or ".." in relative.parts:
        raise RainException(f"Only paths inside of the task's folder can be staged, not {path!r}")
    source = Path.cwd() / relative
    if not (source.is_dir() if is_folder else source.is_file()):
        what = "directory" if is_folder else "file"
        raise RainException(f"There is no {what} {path!r} in the task's folder")
    target = Path(new_path(stage_folder))
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil  # noqa: PLC0415 # few tasks stage from another filesystem

        with OwnFiles(f"cannot move {path!r} into {stage_folder}"):
            shutil.move(source, target)
    data_type = DataType.DIRECTORY if is_folder else DataType.BLOB
    return DataInstance(path=target, data_type=data_type, content_type=content_type)


def throw_away(staged: Iterable[DataInstance], taken: AbstractSet[str]) -> None:
    """Removes staged data that was not returned."""
    for instance in staged:
        if str(instance.path) not in taken:
            instance.remove()
