"""Writes files and directories that nobody sees before they are complete."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from rain.common.fs import copy_writable
from rain.files import local, objects
from rain.files.errors import FilesError
from rain.files.file import File
from rain.files.finding import open_files
from rain.files.places import checked, local_path, shown
from rain.files.systems import Options


@contextmanager
def create_file(
    url: str | PathLike[str], *, overwrite: bool = False, storage_options: Options | None = None
) -> Generator[IO[bytes], None, None]:
    """Opens a new file at a path or in a store: the complete file appears after the block.

    If the block raises, or its process is killed, there is no file, or still the old one.

    >>> from pathlib import Path
    >>> with create_file("rain.txt") as stream:
    ...     _ = stream.write(b"drop")
    ...     Path("rain.txt").exists()
    False
    >>> Path("rain.txt").read_text()
    'drop'

    Args:
        url: a URL that fsspec knows, or a path.
        overwrite: replace a file that is there; else `FileExistsAlready` is raised.
        storage_options: what the file system is made with, as for pandas.
    """
    place = checked(url)
    if place.endswith("/"):
        raise FilesError(f"{shown(place)} is the name of a directory: name a file")
    path = local_path(place)
    made = (
        objects.created(place, storage_options or {}, overwrite=overwrite)
        if path is None
        else local.created(path, overwrite=overwrite)
    )
    with made as stream:
        yield stream


def save_path(
    source: Path, url: str | PathLike[str], *, overwrite: bool, storage_options: Options
) -> list[File]:
    """Copies a file or a directory to a path or into a store; gives handles of what is there."""
    place = checked(url)
    if not source.is_dir():
        with (
            create_file(place, overwrite=overwrite, storage_options=storage_options) as target,
            source.open("rb") as opened,
        ):
            shutil.copyfileobj(opened, target, objects.PIECE)
        return open_files(place, storage_options=storage_options)
    path = local_path(place)
    if path is None:
        objects.save_folder(source, place, storage_options, overwrite=overwrite)
        return open_files(f"{place.rstrip('/')}/**", storage_options=storage_options)
    with local.created_folder(path, overwrite=overwrite) as folder:
        copy_writable(source, folder)
    return open_files(f"{path}/**", storage_options=storage_options)


def save_value(value: object, url: str, overwrite: bool, storage_options: Options) -> File:
    """Publishes a value at a checked URL, and gives the handle of the file."""
    if not isinstance(value, str | bytes | bytearray | memoryview):
        raise TypeError(
            f"save: the result is a {type(value).__name__}; bytes and str are saved as they are."
            " Write other values in a function: with create_file(url) as stream:"
            " value.to_parquet(stream)"
        )
    data: Any = value.encode() if isinstance(value, str) else value
    with create_file(url, overwrite=overwrite, storage_options=storage_options) as stream:
        stream.write(data)
    return open_files(url, storage_options=storage_options)[0]
