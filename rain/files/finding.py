"""Finds files: each URL or pattern is asked for once, and gives a handle for each of its files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from attrs import evolve

from rain.base.near import checked_places
from rain.base.sizes import parse_size
from rain.files.errors import FilesError, MissingFileError
from rain.files.file import File, local_info
from rain.files.places import checked, local_path, protocol_of, shown
from rain.files.systems import Info, Options, fresh_info, naming, system_of, version_of

_WILD = frozenset("*?[")
_WILD_IN_HTTP = frozenset("*")  # the others are parts of ordinary URLs


def open_files(
    urls: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    block_size: int | str | None = None,
    delimiter: bytes = b"\n",
    storage_options: Options | None = None,
    near: str | Iterable[str] | None = None,
) -> list[File]:
    """The files that match URLs, paths or patterns, in the order of their names.

    They are listed by the process that calls this: by a task, if only tasks reach them. See
    `Client.open_files`.

    >>> from pathlib import Path
    >>> _ = Path("rain.txt").write_text("drop")
    >>> client.submit(open_files, str(Path("*.txt").absolute())).result()[0].read_text()
    'drop'
    """
    options = dict(storage_options or {})
    places = () if near is None else checked_places(near)
    several = [urls] if isinstance(urls, str | PathLike) else list(urls)
    files: list[File] = []
    for place in several:
        url = checked(place)
        with naming(url):
            files += _found(url, options)
    if places:
        files = [evolve(file, near=places) for file in files]
    if block_size is None:
        return files
    size = parse_size(block_size) if isinstance(block_size, str) else int(block_size)
    if size < 1:
        raise ValueError(f"block_size: {block_size!r} is not a size")
    return [block for file in files for block in _blocks(file, size, delimiter)]


def _found(url: str, options: dict[str, Any]) -> list[File]:
    path = local_path(url)
    if path is not None:
        return [_made(str(one), _local(one), options) for one in _local_paths(url, path)]
    system, place = system_of(url, options)
    wild = _WILD_IN_HTTP if protocol_of(url).startswith("http") else _WILD
    if wild.isdisjoint(place):
        info = fresh_info(system, place)
        if info.get("type") == "directory":
            raise _is_a_directory(url)
        return [_made(url, info, options)]
    system.invalidate_cache(_before_pattern(place, wild))
    found = system.glob(place, detail=True)
    files = [
        _made(_url(url, system.unstrip_protocol(name)), info, options)
        for name, info in sorted(found.items())
        if info.get("type") != "directory"
    ]
    if not files:
        system.ls(_before_pattern(place, wild), detail=False)  # says so if there is no bucket
        raise MissingFileError(f"{shown(url)}: no file matches")
    return files


def _url(given: str, found: str) -> str:
    """The URL of a file with the protocol that the user has written; s3a:// is s3:// in fsspec."""
    return f"{protocol_of(given)}://{found.partition('://')[2]}"


def _before_pattern(place: str, wild: frozenset[str]) -> str:
    first = next(i for i, letter in enumerate(place) if letter in wild)
    return place[:first].rpartition("/")[0] or place[:first]


def _made(url: str, info: Info, options: dict[str, Any]) -> File:
    return File(url, info.get("size"), version_of(info), storage_options=options)


def _local_paths(url: str, path: Path) -> list[Path]:
    if _WILD.isdisjoint(str(path)) or path.exists():
        return [path]
    names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 # Path.glob takes no absolute one
    found = [Path(name) for name in names if os.path.isfile(name)]  # noqa: PTH113 # names are texts
    if not found:
        raise MissingFileError(f"{url}: no file matches")
    return found


def _local(path: Path) -> Info:
    if path.is_dir():
        raise _is_a_directory(str(path))
    return local_info(path.stat())


def _is_a_directory(url: str) -> FilesError:
    name = shown(url).rstrip("/")
    return FilesError(f"{name} is a directory: write {name}/* for its files")


def _blocks(file: File, size: int, delimiter: bytes) -> Iterator[File]:
    """The parts of a file, each with the records that begin in it."""
    if file.size is None:
        raise FilesError(
            f"{shown(file.url)} cannot be cut into blocks: its store does not say how large it is"
        )
    if file.size <= size:
        yield file
        return
    for start in range(0, file.size, size):
        stop = start + size if start + size < file.size else None
        yield evolve(file, start=start, stop=stop, delimiter=delimiter)
