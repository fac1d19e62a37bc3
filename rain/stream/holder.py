"""The interface of a program that serves streams: finds objects and accepts uploads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from rain.base.ids import ObjectId
from rain.stream.protocol import SharedPlace


@frozen
class InMemory:
    """The bytes of a small object."""

    data: bytes


@frozen
class InFile:
    """A stored file. It is open since it was found, so it stays readable even if it is removed."""

    descriptor: int
    path: Path

    @staticmethod
    def open(path: Path) -> InFile | None:
        """Opens a file; None if there is none."""
        try:
            return InFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)
        except FileNotFoundError:
            return None

    def place(self) -> tuple[int, SharedPlace]:
        """Its length, and its place for a reader on this machine."""
        status = os.fstat(self.descriptor)
        return status.st_size, SharedPlace(str(self.path), status.st_dev, status.st_ino)

    def close(self) -> None:
        os.close(self.descriptor)


@frozen
class InFar:
    """A file that is not on this machine. What it gives is asked for in the threads of streams.

    A directory is an archive there, and `files` says where each of its files begins in that, and
    how many bytes it has.
    """

    size: int
    pieces: Callable[[], Iterable[bytes]]
    part: Callable[[int, int], bytes]
    whole: Callable[[], InFile]
    files: Mapping[str, tuple[int, int]] | None = None


@frozen
class InFolder:
    """A stored directory. It may be removed while it is read; the reader then gets an error."""

    path: Path

    def place(self) -> SharedPlace:
        """Its place for a reader on this machine."""
        status = self.path.stat()
        return SharedPlace(str(self.path), status.st_dev, status.st_ino)


@frozen
class Elsewhere:
    """Others have the object; it is relayed from the first source that delivers it."""

    sources: tuple[str, ...]


Held = InMemory | InFile | InFar | InFolder | Elsewhere


class UnfinishedUpload(Protocol):
    """An upload in progress."""

    descriptor: int  # a file whose space is already reserved

    def complete(self) -> None:
        """Completes the upload: all bytes have arrived."""
        ...

    def abandon(self) -> None:
        """Gives up the upload."""
        ...


class UnfinishedAdoption(Protocol):
    """The file of a client of this machine, which becomes one of ours."""

    @property
    def begun(self) -> Path:
        """Where the client makes a link to it."""
        ...

    def complete(self) -> None:
        """The link is there."""
        ...

    def abandon(self) -> None:
        """Gives up the upload, whether the link is there or not."""
        ...


class Holder(Protocol):
    """The program behind the stream. Its methods are called in the threads of the streams."""

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        """Finds an object; None if it is not here, or if the incarnation is not ours."""
        ...

    def find_each(self, objects: Sequence[ObjectId], incarnation: int) -> list[Held | None]:
        """Finds several objects at once."""
        ...

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        """Reserves space for an upload; raises a one-line `RefusedError` if there is none."""
        ...

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedAdoption:
        """Reserves a place for the file of a client; raises `RefusedError` as above."""
        ...
