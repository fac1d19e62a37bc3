"""Publishes files and directories in object stores and on other systems of fsspec.

In an object store, one request completes an object, however many pieces were sent, and then it
appears. On file servers, a rename does the same. fsspec calls both `commit`, and not all of its
file systems have it.

A directory in an object store is only a common prefix of names, so it cannot appear at once. As in
Hadoop and Spark, the object `_SUCCESS` is written last, and shows that the directory is complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rain.files.errors import FileExistsAlready, FilesError
from rain.files.places import protocol_of, shown
from rain.files.systems import Options, System, naming, system_of

COMPLETE = "_SUCCESS"
"""The name of the empty file that completes a directory."""

_COMMITTING = frozenset({"s3", "s3a", "gs", "gcs", "sftp", "ssh", "smb", "ftp", "webhdfs"})
"""Protocols whose systems make a file visible when it is complete."""

_CREATES_ONLY = frozenset({"s3", "s3a"})
"""Protocols whose mode "xb" lets the store refuse a name that is there."""

PIECE = 16 * 1024 * 1024
"""Bytes that are sent at a time."""


@contextmanager
def created(url: str, options: Options, *, overwrite: bool) -> Generator[IO[bytes], None, None]:
    """Creates an object that appears in the store when the block ends without an exception."""
    system, place = _writable(url, options)
    with naming(url):
        _expect_free(system, place, url, overwrite=overwrite)
        only_new = not overwrite and protocol_of(url) in _CREATES_ONLY
        stream: Any = system.open(place, "xb" if only_new else "wb", autocommit=False)
    try:
        yield stream
        with naming(url):
            stream.close()
            stream.commit()
    except BaseException as error:
        stream.discard()
        if only_new and "pre-conditions" in str(error):  # it has come meanwhile
            raise _exists(url) from None
        raise
    finally:
        system.invalidate_cache(place)


def save_folder(folder: Path, url: str, options: Options, *, overwrite: bool) -> None:
    """Puts all files of a directory, and the one that says so."""
    base = url.rstrip("/")
    system, place = _writable(base, options)
    with naming(url):
        system.invalidate_cache(place)
        there = set(system.find(place, detail=False))
        if there and not overwrite:
            raise _exists(url)
        complete = f"{place}/{COMPLETE}"
        if complete in there:
            system.rm(complete)  # while files are replaced, the directory is not complete
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        name = path.relative_to(folder).as_posix()
        with (
            created(f"{base}/{name}", options, overwrite=True) as stream,
            path.open("rb") as source,
        ):
            shutil.copyfileobj(source, stream, PIECE)
        there.discard(f"{place}/{name}")
    with naming(url):
        there.discard(complete)
        if there:
            system.rm(sorted(there))
    with created(f"{base}/{COMPLETE}", options, overwrite=True):
        pass


def _writable(url: str, options: Options) -> tuple[System, str]:
    if protocol_of(url) not in _COMMITTING:
        raise FilesError(
            f"{shown(url)}: nothing is written to {protocol_of(url)}://, because others could see a"
            f" part of it; supported are {', '.join(sorted(_COMMITTING))}"
        )
    return system_of(url, options)


def _expect_free(system: System, place: str, url: str, *, overwrite: bool) -> None:
    system.invalidate_cache(place)
    if not overwrite and system.exists(place):
        raise _exists(url)


def _exists(url: str) -> FileExistsAlready:
    return FileExistsAlready(f"{shown(url)} exists already; overwrite=True replaces it")
