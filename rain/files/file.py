"""The handle of a file, or of a part of one: small, and an argument of any call."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from attrs import field, frozen

from rain.files.compressed import opener_of
from rain.files.errors import ChangedFileError
from rain.files.parts import ReadRange, edge, open_part
from rain.files.places import local_path, name_of, shown
from rain.files.systems import (
    Info,
    Options,
    fresh_info,
    naming,
    system_of,
    version_of,
)


@frozen(repr=False)
class File:
    """A handle of a file: its place, and its size and version when it was listed.

    A task that gets a handle opens the file on the machine where it runs. If the file has changed
    since it was listed, reading raises `ChangedFileError`.

    >>> from pathlib import Path
    >>> _ = Path("rain.txt").write_text("drop\\ndrop\\n")
    >>> (file,) = client.open_files("rain.txt")
    >>> def count_lines(file):
    ...     with file as stream:
    ...         return len(stream.readlines())
    >>> client.submit(count_lines, file).result()
    2
    """

    url: str
    size: int | None  # None: its store does not say
    version: str
    start: int = 0
    stop: int | None = None  # None: to the end
    delimiter: bytes = b""  # between records, at which parts begin
    storage_options: Options = field(factory=dict[str, Any], hash=False)
    near: tuple[str, ...] = ()  # places from which it is read faster than from elsewhere
    _opened: list[IO[Any]] = field(factory=list[Any], init=False, eq=False)  # by `with`

    @property
    def name(self) -> str:
        """The last part of its path.

        >>> client.open_files(tasks.__file__)[0].name
        'tasks.py'
        """
        return name_of(self.url)

    @property
    def path(self) -> Path | None:
        """Its path, if it is a file of this machine, for libraries that open files themselves.

        >>> from pathlib import Path
        >>> client.open_files(tasks.__file__)[0].path == Path(tasks.__file__)
        True
        """
        return local_path(self.url)

    @property
    def is_part(self) -> bool:
        """Whether it is a block of a file.

        >>> [block.is_part for block in client.open_files(tasks.__file__, block_size="4KiB")][:2]
        [True, True]
        """
        return self.start > 0 or self.stop is not None

    def open(
        self,
        mode: str = "rb",
        *,
        compression: str | None = None,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Opens the file for reading: "rb" for bytes, "r" for text.

        Only the parts that are read are transferred, and a little ahead.

        >>> from pathlib import Path
        >>> _ = Path("rain.txt").write_text("drop")
        >>> with client.open_files("rain.txt")[0].open("r") as stream:
        ...     stream.read()
        'drop'

        Args:
            mode: "rb" or "r".
            compression: "gzip", "zstd" and others that fsspec knows; "infer" goes by the name.
            encoding, errors, newline: of the text, as for the function `open`.
        """
        if mode not in {"r", "rt", "rb"}:
            raise ValueError(f"{self!r} can be read only: the mode is 'rb' or 'r', not {mode!r}")
        opener = opener_of(compression, self.name)
        with naming(self.url):
            stream = self._open_part() if self.is_part else self._open_whole()
        if opener is not None:
            stream = opener(stream)
        if mode == "rb":
            return stream
        return io.TextIOWrapper(stream, encoding or "utf-8", errors, newline)

    def read_bytes(self) -> bytes:
        """All of its bytes.

        >>> from pathlib import Path
        >>> _ = Path("rain.txt").write_text("drop")
        >>> client.open_files("rain.txt")[0].read_bytes()
        b'drop'
        """
        with self.open() as stream:
            data: bytes = stream.read()
            return data

    def read_text(self, encoding: str = "utf-8") -> str:
        """All of it as text.

        >>> from pathlib import Path
        >>> _ = Path("rain.txt").write_text("drop")
        >>> client.open_files("rain.txt")[0].read_text()
        'drop'
        """
        return self.read_bytes().decode(encoding)

    def download(self, path: str | os.PathLike[str]) -> None:
        """Writes the file to a path of this machine.

        >>> from pathlib import Path
        >>> _ = Path("rain.txt").write_text("drop")
        >>> client.open_files("rain.txt")[0].download("copy.txt")
        >>> Path("copy.txt").read_text()
        'drop'
        """
        if self.is_part or self.path is not None:
            with self.open() as source, Path(path).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            return
        with naming(self.url):
            system, place = system_of(self.url, self.storage_options)
            self._expect_unchanged(fresh_info(system, place))
            system.get_file(place, os.fspath(path))
            self._expect_unchanged(fresh_info(system, place))

    def __fspath__(self) -> str:
        # Libraries ask for it that open files by their paths.
        path = self.path
        if path is None or self.is_part:
            what = "a block of a file" if self.is_part else "no file of this machine"
            raise TypeError(f"{self!r} is {what}: give what its open() returns, or download() it")
        return str(path)

    def __enter__(self) -> IO[Any]:
        self._opened.append(self.open())
        return self._opened[-1]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.pop().close()

    def _open_whole(self) -> IO[Any]:
        path = self.path
        if path is not None:
            opened = path.open("rb")
            try:
                self._expect_unchanged(local_info(os.fstat(opened.fileno())))
            except BaseException:
                opened.close()
                raise
            return opened
        system, place = system_of(self.url, self.storage_options)
        system.invalidate_cache(place)
        stream: IO[Any] = system.open(place, "rb")
        # Most streams have asked their store already.
        self._expect_unchanged(getattr(stream, "details", None) or system.info(place))
        return stream

    def _open_part(self) -> IO[Any]:
        path = self.path
        if path is not None:
            whole = self._open_whole()
            descriptor = whole.fileno()
            size = os.fstat(descriptor).st_size

            def read_here(start: int, stop: int) -> bytes:
                return os.pread(descriptor, stop - start, start)

            return open_part(read_here, *self._edges(read_here, size), whole.close)
        system, place = system_of(self.url, self.storage_options)
        info = fresh_info(system, place)
        self._expect_unchanged(info)

        def read(start: int, stop: int) -> bytes:
            with naming(self.url):
                return system.cat_file(place, start=start, end=stop)

        return open_part(read, *self._edges(read, info["size"]))

    def _edges(self, read: ReadRange, size: int) -> tuple[int, int]:
        """Where its records begin and end."""
        stop = size if self.stop is None else self.stop
        return edge(read, self.start, size, self.delimiter), edge(read, stop, size, self.delimiter)

    def _expect_unchanged(self, info: Info) -> None:
        size, version = info.get("size"), version_of(info)
        if (size, version) != (self.size, self.version):
            raise ChangedFileError(
                f"{shown(self.url)} has changed since it was found: it had {self.size} bytes and"
                f" was version {self.version or 'unknown'}, and now it has {size} bytes and is"
                f" version {version or 'unknown'}"
            )

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _SENT)

    def __setstate__(self, state: Iterable[Any]) -> None:
        for name, value in zip(_SENT, state, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_opened", [])

    def __repr__(self) -> str:
        part = f" {self.start}-{'' if self.stop is None else self.stop}" if self.is_part else ""
        return f"<File {shown(self.url)}{part}>"


_SENT = ("url", "size", "version", "start", "stop", "delimiter", "storage_options", "near")
"""The fields that are sent with a handle."""


def local_info(status: os.stat_result) -> Info:
    """The information about a file of this machine, in the form of other file systems."""
    return {"size": status.st_size, "mtime": status.st_mtime_ns}
