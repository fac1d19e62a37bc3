"""Publishes files and directories on disks: made beside their place, and renamed when complete.

The temporary name follows from the target path, and the temporary file is locked. So the next
writer of the same path removes the remains of a killed process, and two writers do not mix their
data.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rain.files.errors import FileExistsAlready, FilesError
from rain.stream.removing import remove

SUFFIX = ".rain-part"
"""The end of the name of what is not complete."""

_WITHOUT = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})
"""How a file system says that it has no locks, or no links."""

_FILE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def created(place: Path, *, overwrite: bool) -> Generator[BinaryIO, None, None]:
    """Creates a file that appears at its path when the block ends without an exception.

    If it replaces a file, it takes over the permissions. Devices and pipes are written directly.
    """
    path = Path(os.path.realpath(place))  # a link stays, and its target is replaced
    _expect_free(path, overwrite=overwrite)
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with part_beside(path) as part, part.open("wb") as stream:
        yield stream
        stream.flush()
        if path.exists():
            os.fchmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))
        os.fsync(stream.fileno())
        _put_file(part, path, overwrite=overwrite)


@contextmanager
def part_beside(path: Path) -> Generator[Path, None, None]:
    """A new file beside another one, which no other process writes and which may be renamed.

    It is removed if the block raises.
    """
    part = part_of(path)
    descriptor = _locked(part, _FILE)
    try:
        yield part
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


@contextmanager
def created_folder(place: Path, *, overwrite: bool) -> Generator[Path, None, None]:
    """Creates an empty folder to be filled, which appears at its path when the block ends.

    An existing folder is moved aside then, and removed: for a moment there is none at the path.
    """
    path = Path(os.path.realpath(place))
    _expect_free(path, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    with _about(path):
        part.mkdir(exist_ok=True)
    descriptor = _locked(part, _FOLDER)
    try:
        _put_back(path)
        _expect_free(path, overwrite=overwrite)
        for left in part.iterdir():
            remove(left)
        yield part
        _put_folder(part, path, overwrite=overwrite)
    except BaseException:
        remove(part)
        raise
    finally:
        os.close(descriptor)


def part_of(path: Path) -> Path:
    """Where something is made that gets this path when it is complete."""
    return path.with_name(f".{path.name}{SUFFIX}")


def _expect_free(path: Path, *, overwrite: bool) -> None:
    if not overwrite and path.exists():
        raise _exists(path)


def _locked(part: Path, flags: int) -> int:
    """Opens and locks a file that no other process writes."""
    path = part.with_name(part.name[1 : -len(SUFFIX)])
    while True:
        with _about(path):
            descriptor = os.open(part, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), part.stat()):
                return descriptor
        except FileNotFoundError:
            os.close(descriptor)  # its maker has renamed it after we had opened it
        except OSError as error:
            if error.errno in _WITHOUT:
                return descriptor
            os.close(descriptor)
            if not isinstance(error, BlockingIOError):
                raise
            raise FilesError(f"{path} is being written by another task or program now") from None
        else:
            os.close(descriptor)
        if flags & os.O_DIRECTORY:
            part.mkdir(exist_ok=True)


@contextmanager
def _about(path: Path) -> Generator[None, None, None]:
    """Errors of the system name the file that is to be made, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _put_file(part: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        part.replace(path)
        return
    try:
        path.hardlink_to(part)  # refuses what has come meanwhile, which a rename does not
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _WITHOUT:
            raise
        _expect_free(path, overwrite=False)
        part.rename(path)
    else:
        part.unlink()


def _put_folder(part: Path, path: Path, *, overwrite: bool) -> None:
    old = _old_of(path)
    if overwrite and path.exists():
        path.rename(old)
    try:
        part.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        elif path.exists():
            raise _exists(path) from None
        raise
    remove(old)


def _old_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.rain-old")


def _put_back(path: Path) -> None:
    """Restores a folder whose replacement was interrupted because the process was killed."""
    old = _old_of(path)
    if path.exists():
        remove(old)
    elif old.exists():
        old.rename(path)


def _exists(path: Path) -> FileExistsAlready:
    return FileExistsAlready(f"{path} exists already; overwrite=True replaces it")
