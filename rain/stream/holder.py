"""What is asked of a program that listens for streams: where an object is, where an upload goes."""

from __future__ import annotations

import os
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
    """A stored file. It was opened when it was found, so nobody can take it away any more."""

    descriptor: int
    path: Path

    @staticmethod
    def open(path: Path) -> InFile | None:
        """None when there is no such file."""
        try:
            return InFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)
        except FileNotFoundError:
            return None

    def place(self) -> tuple[int, SharedPlace]:
        """Its length, and how a reader on this machine finds it."""
        status = os.fstat(self.descriptor)
        return status.st_size, SharedPlace(str(self.path), status.st_dev, status.st_ino)

    def close(self) -> None:
        os.close(self.descriptor)


@frozen
class InFolder:
    """A stored directory. It may be removed while it is read, and its reader then hears so."""

    path: Path

    def place(self) -> SharedPlace:
        """How a reader on this machine finds it."""
        status = self.path.stat()
        return SharedPlace(str(self.path), status.st_dev, status.st_ino)


@frozen
class Elsewhere:
    """Others have it; it is passed on from the first of them that gives it."""

    sources: tuple[str, ...]


Held = InMemory | InFile | InFolder | Elsewhere


class UnfinishedUpload(Protocol):
    """An upload in the making."""

    descriptor: int  # a file that has all of its room already

    def complete(self) -> None:
        """All of it has come."""
        ...

    def abandon(self) -> None:
        """It will not be completed."""
        ...


class Holder(Protocol):
    """The program behind the stream. Called in the threads of the streams."""

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        """Where the object is; None when it is not here, or another program is meant."""
        ...

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        """Room for an upload; `RefusedError` says in one line why there is none."""
        ...
