"""The governor's built-in tasks that work with files: open, open_dir, export, and directories.

They run in a thread, because copying gigabytes must not block the governor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from attrs import frozen

from rain.base import modes
from rain.base.kinds import DataType
from rain.files.errors import FileExistsAlready, FilesError
from rain.files.local import created, created_folder
from rain.governor.core.effects import BuiltinInput, RunBuiltin
from rain.governor.core.results import Made, Outputs, Stored
from rain.governor.programs.sandbox import BuiltinError, collect, copy_to, copy_tree, inside, plain
from rain.governor.storage.store import MEMORY_LIMIT, Store
from rain.stream.copying import copy_bytes


@frozen
class BuiltinJob:
    """The inputs and folder of a task; the folder exists and is removed afterwards."""

    effect: RunBuiltin
    store: Store
    folder: Path

    def config(self) -> Any:
        """The task's configuration."""
        try:
            return json.loads(self.effect.config)
        except ValueError as error:
            kind = self.effect.kind.task_type
            raise BuiltinError(
                f"the configuration of a {kind!r} task is not JSON: {error}"
            ) from None

    def setting(self, name: str, kind: type) -> Any:
        """Returns one named value of the configuration and checks its type."""
        config = self.config()
        value: Any = config.get(name) if _is_table(config) else None
        if not isinstance(value, kind):
            what = self.effect.kind.task_type
            raise BuiltinError(
                f"the configuration of a {what!r} task needs {name!r}: {kind.__name__}"
            )
        return value


def _is_table(config: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(config, dict)


def concat(job: BuiltinJob) -> Outputs:
    """Concatenates all inputs."""
    for source in job.effect.inputs:
        if source.kind.data_type is DataType.DIRECTORY:
            raise BuiltinError("concat joins blobs, and one of the inputs is a directory")
    contents = [source.content for source in job.effect.inputs]
    if sum(source.size for source in job.effect.inputs) < MEMORY_LIMIT:
        return [b"".join(_bytes(job.store, content) for content in contents)]
    number = job.store.new_number()
    with job.store.path(number).open("wb") as joined:
        for content in contents:
            if isinstance(content, bytes):
                joined.write(content)
            else:
                with job.store.path(content).open("rb") as part:
                    while piece := part.read(1 << 20):
                        joined.write(piece)
    return _made(job.store.settle(number))


def exchange(job: BuiltinJob) -> Outputs:
    """The list of where partitioned objects are, which the server has written."""
    return _made(job.store.keep(job.effect.config))


def _bytes(store: Store, content: bytes | int) -> bytes:
    return content if isinstance(content, bytes) else store.path(content).read_bytes()


def _made(content: bytes | Stored) -> Outputs:
    return [content if isinstance(content, bytes) else Made(content)]


def open_file(job: BuiltinJob) -> Outputs:
    """Copies a file of this machine."""
    path = _absolute(job)
    if not path.is_file():
        raise _missing(path, "file")
    if path.stat().st_size < MEMORY_LIMIT:
        return [path.read_bytes()]
    return _made(job.store.copy_in(path))


def open_directory(job: BuiltinJob) -> Outputs:
    """Copies a directory of this machine."""
    path = _absolute(job)
    if not path.is_dir():
        raise _missing(path, "directory")
    return _made(job.store.copy_in(path))


def _missing(path: Path, kind: str) -> BuiltinError:
    if path.exists():
        reads = {"file": "tasks.LoadDir reads directories", "directory": "tasks.Load reads files"}
        return BuiltinError(f"{str(path)!r} is no {kind}; {reads[kind]}")
    return BuiltinError(f"there is no {kind} {str(path)!r} on this governor")


def export(job: BuiltinJob) -> Outputs:
    """Writes the input to a path of this machine, where it appears when it is complete."""
    path = _absolute(job)
    (source,) = inputs_of(job, 1)
    try:
        if source.kind.data_type is DataType.DIRECTORY:
            with created_folder(path, overwrite=False) as folder:
                copy_to(job.store, source, folder)
        else:
            with created(path, overwrite=True) as file:
                _fill(job.store, source.content, file)
    except FileExistsAlready:
        raise BuiltinError(f"{str(path)!r} exists already on this governor") from None
    except FilesError as error:
        raise BuiltinError(str(error)) from None
    return []


def _fill(store: Store, content: bytes | int, file: BinaryIO) -> None:
    if isinstance(content, bytes):
        file.write(content)
        return
    with store.path(content).open("rb") as stored:
        status = os.fstat(stored.fileno())
        copy_bytes(stored.fileno(), file.fileno(), status.st_size)
        if status.st_mode & modes.ANY_EXECUTE:
            os.fchmod(file.fileno(), modes.PROGRAM)


def make_directory(job: BuiltinJob) -> Outputs:
    """Puts the inputs at their paths in a new directory; "" and "." mean the directory itself."""
    paths = job.setting("paths", list)
    made = job.folder / "made"
    made.mkdir()
    for path, source in zip(paths, inputs_of(job, len(paths)), strict=True):
        target = inside(made, path)
        is_folder = source.kind.data_type is DataType.DIRECTORY
        if target == made and not is_folder:
            raise BuiltinError(f"only a directory can be the base of a directory, at {path!r}")
        if target != made and target.exists():
            raise BuiltinError(f"two inputs have the path {path!r}")
        if target != made and any(p.is_file() for p in target.parents if p.is_relative_to(made)):
            raise BuiltinError(f"the path {path!r} leads through a file")
        if is_folder and isinstance(source.content, int):
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_tree(job.store.path(source.content), target)
        else:
            copy_to(job.store, source, target)
    return _made(job.store.adopt(made))


def slice_directory(job: BuiltinJob) -> Outputs:
    """Takes one file or directory out of the input."""
    path = job.setting("path", str)
    (source,) = inputs_of(job, 1)
    if source.kind.data_type is not DataType.DIRECTORY:
        raise BuiltinError("slice_directory takes a directory, and its input is a blob")
    whole = job.folder / "whole"
    if isinstance(source.content, int):
        whole = job.store.path(source.content)
    else:
        copy_to(job.store, source, whole)
    part = inside(whole, path)
    if not part.resolve().is_relative_to(whole.resolve()):
        raise BuiltinError(f"the path {path!r} does not stay inside of its directory")
    taken = job.folder / "taken"
    if part.is_dir():
        copy_tree(part, taken)
    elif part.is_file():
        taken.hardlink_to(part.resolve())  # follow a link: copied as a link it would point nowhere
    return _made(collect(job.store, taken, path, job.effect.outputs[0]))


def _absolute(job: BuiltinJob) -> Path:
    path = Path(plain(job.setting("path", str)))
    if not path.is_absolute():
        raise BuiltinError(f"the path {str(path)!r} is not absolute")
    return path


def inputs_of(job: BuiltinJob, count: int) -> tuple[BuiltinInput, ...]:
    """Returns the inputs; there must be exactly `count`."""
    inputs = job.effect.inputs
    if len(inputs) != count:
        what = job.effect.kind.task_type
        raise BuiltinError(f"a {what!r} task has {len(inputs)} inputs instead of {count}")
    return inputs


IN_A_THREAD: dict[str, Callable[[BuiltinJob], Outputs]] = {
    "concat": concat,
    "exchange": exchange,
    "open": open_file,
    "open_dir": open_directory,
    "export": export,
    "make_directory": make_directory,
    "slice_directory": slice_directory,
}
"""The tasks by the names of their methods."""
