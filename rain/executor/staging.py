"""Staging: files and directories that a task has made and wants to return."""

from __future__ import annotations

import errno
import itertools
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rain.base.shortage import NoRoomError, OwnFiles, ShortageError, is_shortage
from rain.base.sizes import spell_size
from rain.common.errors import RainException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from io import BufferedWriter
    from pathlib import Path

    from rain.common.data_instance import DataInstance
    from rain.executor.file_places import FilePlaces

_numbers = itertools.count(1)

_LARGE = 1 << 20
"""From this size on, large files are written in a special way (`rain.stream.writing`)."""


class StagingFolders:
    """The folders in which an executor leaves its files: one on the disk, one in shared memory."""

    def __init__(self, folder: str, data: str, shared: str, number: int = 0) -> None:
        self.folder = folder
        self._data = data  # the governor's folder of stored files
        self._folders = [folder]
        self._shared = shared  # the governor's folder in shared memory, or ""
        if shared:
            self._folders.append(f"{shared}/stage-{number}")
        for made in self._folders:
            os.mkdir(made)  # noqa: PTH102 # pathlib starts slowly
        self._places: FilePlaces | None = None  # until a file is written

    def owns(self, path: Path) -> bool:
        """Whether this is a file here."""
        return str(path.parent) in self._folders

    def new_path(self) -> str:
        """Returns an unused path on the disk."""
        return f"{self.folder}/{next(_numbers)}"

    def write(self, parts: Sequence[bytes | memoryview]) -> str:
        """Writes these parts to a file without joining them in memory first."""
        size = sum(map(len, parts))
        path = self._written_over(parts, size) if self._shared and size >= _LARGE else None
        if path is not None:
            return path
        return self.write_by(size, lambda file, on_disk: _write(file, parts, size, on_disk=on_disk))

    def write_by(self, size: int, write: Callable[[BufferedWriter, bool], None]) -> str:
        """Writes a file of about this size by a function, which is told whether it is on the disk.

        The function runs again where others have filled the shared memory meanwhile.
        """
        path = self._written_in_memory(size, write) if self._shared else None
        if path is not None:
            return path
        path = self.new_path()
        try:
            with OwnFiles(f"cannot write into {self.folder}"), _opened(path) as file:
                write(file, True)
        except ShortageError as error:
            _remove(path)
            if error.errno == errno.ENOSPC:
                raise self._full(size) from error
            raise
        except OSError as error:
            _remove(path)
            raise RainException(f"cannot write into {self.folder}: {error.strerror}") from None
        except BaseException:  # of the function that writes, which may run code of the user
            _remove(path)
            raise
        return path

    def _full(self, size: int) -> NoRoomError:
        """Says whether there could ever be room for this file."""
        disk = os.statvfs(self.folder)
        return NoRoomError(
            size,
            f"cannot write {spell_size(size)} into {self.folder}, which has"
            f" {spell_size(disk.f_blocks * disk.f_frsize)} in all: {os.strerror(errno.ENOSPC)}",
        )

    def _written_over(self, parts: Sequence[bytes | memoryview], size: int) -> str | None:
        """A spare file that has these parts now; None if there is none, or it cannot grow."""
        path = self._file_places().spare(size)
        if path is None:
            return None
        try:
            with _opened(path) as file:
                _write(file, parts, size, on_disk=False)
                file.truncate()  # it may have been longer
        except OSError:  # a new file says why
            _remove(path)
            return None
        return path

    def _written_in_memory(
        self, size: int, write: Callable[[BufferedWriter, bool], None]
    ) -> str | None:
        """The file in shared memory, if it belongs there and there is room for it."""
        path = self._file_places().new_in_memory(size)
        if path is None:
            return None
        try:
            with _opened(path) as file:
                write(file, False)
        except OSError as error:
            _remove(path)
            if is_shortage(error):
                return None  # others have filled it
            raise RainException(f"cannot write {path}: {error.strerror}") from None
        except BaseException:  # as above
            _remove(path)
            raise
        return path

    def _file_places(self) -> FilePlaces:
        if self._places is None:
            from rain.executor.file_places import FilePlaces  # noqa: PLC0415 # many never write one

            self._places = FilePlaces(self._data, self._shared, *self._folders)
        return self._places


def _opened(path: str) -> BufferedWriter:
    """A new file for a value, or a spare one."""
    from rain.stream.spare_files import open_value_file  # noqa: PLC0415 # many never write one

    return open(path, "wb", opener=open_value_file)


def _remove(path: str) -> None:
    """Removes what could not be written, if there is anything."""
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 # pathlib starts slowly


def _write(
    file: BufferedWriter, parts: Sequence[bytes | memoryview], size: int, *, on_disk: bool
) -> None:
    """All parts, of this size together; on the disk into a new file."""
    if size >= _LARGE:
        from rain.stream.writing import in_pieces, reserve  # noqa: PLC0415 # many never write one

        if on_disk:
            reserve(file.fileno(), size)
        file.writelines(in_pieces(parts))
    else:
        file.writelines(parts)


def stage(
    own: StagingFolders, path: str, content_type: str | None, is_folder: bool
) -> DataInstance:
    """Moves a path (relative to the task's folder) to the stage."""
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
    target = Path(own.new_path())
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil  # noqa: PLC0415 # few tasks stage from another filesystem

        with OwnFiles(f"cannot move {path!r} into {own.folder}"):
            shutil.move(source, target)
    data_type = DataType.DIRECTORY if is_folder else DataType.BLOB
    return DataInstance(path=target, data_type=data_type, content_type=content_type)


def throw_away(staged: Iterable[DataInstance], taken: AbstractSet[str]) -> None:
    """Removes staged data that was not returned."""
    for instance in staged:
        if str(instance.path) not in taken:
            instance.remove()
