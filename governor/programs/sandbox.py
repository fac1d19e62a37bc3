"""Puts objects as files into the folder of an external program, and takes files as outputs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar, TypeVarTuple

import trio

from rain.base.errors import RainError
from rain.base.ids import spell
from rain.base.kinds import DataType, ObjectKind
from rain.base.runs import RunCause
from rain.base.shortage import is_shortage
from rain.common.errors import RainException
from rain.common.fs import copy_writable, unpack
from rain.governor.core.effects import BuiltinInput, RunBuiltin
from rain.governor.core.results import Failed, Stored
from rain.governor.storage.errors import StoreError, not_stored
from rain.governor.storage.store import MEMORY_LIMIT, Store

Ts = TypeVarTuple("Ts")
Result = TypeVar("Result")

EXPORT = "buildin/export"


class BuiltinError(RainError):
    """A task that runs inside the governor has failed; its text is for the user."""


def attempt(effect: RunBuiltin, function: Callable[[*Ts], Result], *args: *Ts) -> Result | Failed:
    """Returns the result of the function, or a failure if it raises."""
    try:
        return function(*args)
    except BuiltinError as error:
        return Failed(str(error))
    except StoreError as error:
        return not_stored(error)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"{effect.kind.task_type}: {error.strerror or error}{where}"
        # An export writes to a path of the user, whose disk may stay full on every try.
        if is_shortage(error) and effect.kind.task_type != EXPORT:
            return Failed(message, cause=RunCause.NOT_STARTED)
        return Failed(message)


async def attempt_in_a_thread(
    effect: RunBuiltin, function: Callable[[*Ts], Result], *args: *Ts
) -> Result | Failed:
    """Calls `attempt` in a thread; if no thread can be started, the task is handed back."""
    try:
        return await trio.to_thread.run_sync(attempt, effect, function, *args)
    except RuntimeError as error:
        if not is_shortage(error):
            raise
        return Failed(f"{effect.kind.task_type}: {error}", cause=RunCause.NOT_STARTED)


def plain(path: object) -> str:
    """Checks that a path is valid for the system."""
    if not isinstance(path, str) or "\0" in path:
        raise BuiltinError(f"{path!r} is not a path")
    return path


def inside(folder: Path, path: object) -> Path:
    """Returns a path below a folder; raises if it leads out of it."""
    relative = PurePosixPath(plain(path))
    if relative.is_absolute() or ".." in relative.parts:
        raise BuiltinError(f"the path {path!r} does not stay inside of its directory")
    return folder / relative


def copy_to(store: Store, source: BuiltinInput, target: Path) -> None:
    """Makes a copy that may be changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source.content, int):
        copy_writable(store.path(source.content), target)
    elif source.kind.data_type is DataType.DIRECTORY:
        try:
            unpack(source.content, target)
        except RainException as error:
            raise BuiltinError(f"the input {spell(source.id)} is no directory: {error}") from None
    else:
        target.write_bytes(source.content)


def link_to(store: Store, source: BuiltinInput, target: Path) -> None:
    """Puts the object at a path for reading: a link if it is stored, else a new file."""
    if isinstance(source.content, int):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(store.path(source.content))
    else:
        copy_to(store, source, target)


def collect(store: Store, path: Path, name: str, kind: ObjectKind) -> bytes | Stored:
    """Takes the file or directory at a path as an output of this kind."""
    what = kind.spelled
    if not path.exists():
        raise BuiltinError(f"the output {what} is missing: nothing is at the path {name!r}")
    is_folder = path.is_dir()
    if is_folder != (kind.data_type is DataType.DIRECTORY):
        expected, found = ("a file", "a directory") if is_folder else ("a directory", "a file")
        raise BuiltinError(f"the output {what} must be {expected}, but {found} is at {name!r}")
    if not is_folder and path.stat().st_size < MEMORY_LIMIT:
        return path.read_bytes()
    return store.adopt(path)


def copy_tree(source: Path, target: Path) -> None:
    """Copies a folder, but shares its files with the stored folder, which never changes."""
    shutil.copytree(source, target, symlinks=True, copy_function=_share, dirs_exist_ok=True)
    _open_folders(target)


def _share(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def _open_folders(folder: Path) -> None:
    folder.chmod(0o755)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _open_folders(entry)
