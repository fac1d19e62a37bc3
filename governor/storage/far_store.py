"""The far store of a governor: files below a URL of fsspec or in a folder (`--spill-to`).

Each governor has a folder of its own there, whose name says which process it belongs to. It is
removed at the end of the governor; the folder of a killed governor is removed when the next one
starts on the same machine. A file is read only after it was written completely. A reader of a whole
file gets it only if its length and checksum are right, which the governor remembers.

A directory is stored as one archive, in the same format as in transfers. The governor remembers the
offsets of its files, so that a part of a file can be read alone.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import tarfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from zlib import crc32

import outcome
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.files.errors import FilesError, MissingFileError
from rain.files.places import checked, local_path, shown
from rain.files.systems import fresh_info, naming, system_of
from rain.governor.core.effects import DeleteFar, FetchObject, SendFar
from rain.governor.core.events import FetchFailed, ObjectFetched, SentFar, Tell
from rain.governor.core.objects import FAR
from rain.governor.core.results import Stored
from rain.governor.storage.errors import NoRoomError, StoreError
from rain.governor.storage.far_bytes import Coming, Target, Written
from rain.governor.storage.far_folders import is_abandoned, own_name
from rain.governor.storage.store import Store, writing_into
from rain.rpc.background import Background, trouble_of
from rain.stream.archive import Archive, ChangedError, Writable
from rain.stream.holder import InFar, InFile
from rain.stream.sockets import BrokenError

PIECE = 8 * 1024 * 1024
"""Bytes that are read and written at once."""

ATTEMPTS = 3
"""How many attempts to read a file are made until it counts as lost. fsspec has retries of its own,
too.
"""


class DamagedFileError(FilesError):
    """The content in the far store has changed since it was written."""


class GoneError(FilesError):
    """The directory was removed while it was copied: it is not needed any more."""


class FarStore:
    """Carries out what `offloading` decides, each copy in a thread."""

    def __init__(
        self,
        url: str,
        store: Store,
        background: Background,
        log: FilteringBoundLogger,
    ) -> None:
        self._store = store
        self._background = background
        self._log = log
        self._written: dict[int, Written] = {}
        self._closed = False
        try:
            self.url = checked(url).rstrip("/")
            self._system, top = system_of(self.url, {})
            self._folder = f"{top.rstrip('/')}/{own_name()}-{secrets.token_hex(4)}"
            self._remove_abandoned(top)
            with naming(self.url):  # to report a wrong name or key at the start
                self._system.makedirs(self._folder, exist_ok=True)
                with self._system.open(f"{self._folder}/begun", "wb") as file:
                    file.write(b"data that a governor of Rain keeps here while it runs\n")
        except FilesError as error:
            raise StartError(f"--spill-to cannot be used: {error}") from None

    # What the reactor orders.

    def send(self, effect: SendFar, tell: Tell) -> None:
        """Copies a file there, which stays readable for that whatever becomes of it; or a
        directory, which does not."""
        path = self._store.path(effect.file)
        if path.is_dir():
            work = partial(self._write_folder, effect.number, path, effect.size)
        else:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                tell(SentFar(effect.number, effect.file, f"{error.strerror}"))
                return
            work = partial(self._write_file, effect.number, descriptor, effect.size)
        self._background.in_thread(work, partial(self._sent, effect, tell))

    def fetch(self, effect: FetchObject, tell: Tell) -> None:
        """Brings a file back into the store."""
        number = number_of(effect.source)
        # It may be deleted meanwhile, because it is not wanted any more.
        work = partial(self._bring, number, self._written[number])
        self._background.in_thread(work, partial(self._fetched, effect, tell))

    def delete(self, effect: DeleteFar) -> None:
        """Removes files that no object needs."""
        for number in effect.numbers:
            self._written.pop(number, None)
        paths = [self._path(number) for number in effect.numbers]
        self._background.in_thread(partial(self._remove, paths), _removed)

    def find(self, number: int) -> InFar:
        """How others read a file where it is."""
        known = self._written[number]
        pieces, whole = partial(self._given, number, known), partial(self._whole, number, known)
        return InFar(known.size, pieces, partial(self._range, number), whole, known.files)

    def close(self) -> None:
        """The governor ends: all of its files go. Blocks."""
        self._closed = True
        try:
            with naming(self.url):
                self._remove_folder(self._folder)
        except FilesError as error:
            self._log.warning("spilled data not removed", reason=str(error))

    # In threads.

    def _write_file(self, number: int, descriptor: int, size: int) -> Written:
        with os.fdopen(descriptor, "rb", buffering=0) as source:
            return self._write(number, size, partial(shutil.copyfileobj, source, length=PIECE))

    def _write_folder(self, number: int, folder: Path, size: int) -> Written:
        try:
            archive = Archive.of(folder)
            return self._write(number, size, archive.write, archive.places)
        except (OSError, ChangedError, FilesError) as error:
            if not folder.exists():  # it is renamed before it is removed
                raise GoneError("the directory was removed") from None
            if isinstance(error, FilesError):
                raise
            raise FilesError(f"a stored directory cannot be read: {error}") from None

    def _write(
        self,
        number: int,
        size: int,
        fill: Callable[[Writable], object],
        files: Mapping[str, tuple[int, int]] | None = None,
    ) -> Written:
        path = self._path(number)
        with naming(self.url):
            with self._system.open(path, "wb") as file:
                target = Target(file, self._check_open)
                fill(target)
            there = int(fresh_info(self._system, path)["size"])
        if not there == target.written == size:
            raise DamagedFileError(f"{shown(self.url)}: of {size} bytes {there} were written")
        return Written(size, target.checksum, files)

    def _check_open(self) -> None:
        if self._closed:
            raise FilesError("the governor ends")

    def _bring(self, number: int, known: Written) -> Stored:
        error: FilesError | None = None
        for _ in range(ATTEMPTS):
            try:
                return self._brought(number, known)
            except FilesError as failed:
                error = failed
        assert error is not None
        raise error

    def _brought(self, number: int, known: Written) -> Stored:
        if known.files is not None:
            return self._brought_folder(number, known)
        with writing_into(self._store):
            stored, target = self._store.new_file(known.size)
        try:
            self._copy_to(number, known, target)
        except BaseException:
            target.close()
            self._store.delete([stored])
            raise
        target.close()
        return self._store.settle(stored)

    def _brought_folder(self, number: int, known: Written) -> Stored:
        """The directory, unpacked while it comes."""
        try:
            with io.BufferedReader(Coming(self._verified(number, known)), PIECE) as archive:
                return self._store.unpack_far(archive)
        except tarfile.TarError:
            raise DamagedFileError(f"{shown(self.url)}: a file is no archive any more") from None

    def _copy_to(self, number: int, known: Written, target: Writable) -> None:
        """All of a file, if it is what was written."""
        for piece in self._verified(number, known):
            with writing_into(self._store):
                target.write(piece)

    def _verified(self, number: int, known: Written) -> Iterator[bytes]:
        """The pieces of a file. The last one comes only if all of them are what was written."""
        checksum = received = 0
        last = b""
        with naming(self.url), self._system.open(self._path(number), "rb") as source:
            while piece := source.read(PIECE):
                if last:
                    yield last
                checksum, received, last = crc32(piece, checksum), received + len(piece), piece
        if (received, checksum) != (known.size, known.checksum):
            raise DamagedFileError(
                f"{shown(self.url)}: a file has other bytes than were written there"
            )
        yield last

    # For those who read it from here, in the threads of their streams.

    def _given(self, number: int, known: Written) -> Iterator[bytes]:
        with _breaking():
            yield from self._verified(number, known)

    def _range(self, number: int, start: int, stop: int) -> bytes:
        with _breaking(), naming(self.url):
            data = self._system.cat_file(self._path(number), start=start, end=stop)
            if len(data) != stop - start:
                raise DamagedFileError(f"{shown(self.url)}: a file is shorter than it was")
        return data

    def _whole(self, number: int, known: Written) -> InFile:
        """All of it in a file without a name, for those who read many parts."""
        with _breaking(), TemporaryFile(dir=self._store.folder) as file:
            self._copy_to(number, known, file)
            file.flush()
            return InFile(os.dup(file.fileno()), self._store.folder / "far")

    def _remove(self, paths: list[str]) -> None:
        for path in paths:
            try:
                with naming(self.url):
                    self._system.rm(path)
            except MissingFileError:
                pass
            except FilesError as error:
                self._log.warning("spilled data not removed", reason=str(error))

    def _remove_folder(self, folder: str) -> None:
        self._system.invalidate_cache(folder)
        self._remove([str(path) for path in self._system.find(folder, detail=False)])
        if local_path(self.url) is not None:  # elsewhere folders are a part of names
            with suppress(OSError):  # another program has put something there
                Path(folder).rmdir()

    def _remove_abandoned(self, top: str) -> None:
        """Folders of governors that were killed on this machine, as far as they can be removed."""
        try:
            with naming(self.url):
                self._system.invalidate_cache(top)
                found: list[str] = []
                if self._system.exists(top):
                    found = self._system.ls(top, detail=False)
                for folder in found:
                    if is_abandoned(folder.rstrip("/").rpartition("/")[2]):
                        self._remove_folder(folder)
                        self._log.info("data of a killed governor removed", folder=folder)
        except MissingFileError:
            return  # another governor removes it, too

    # Back on the loop.

    def _sent(self, effect: SendFar, tell: Tell, result: outcome.Outcome[Written]) -> None:
        trouble = trouble_of(result, FilesError)
        if trouble is None:
            self._written[effect.number] = result.unwrap()
            tell(SentFar(effect.number, effect.file))
        else:
            if not isinstance(trouble, GoneError):
                self._log.warning("data not spilled", reason=str(trouble))
            tell(SentFar(effect.number, effect.file, str(trouble)))
            self._background.in_thread(partial(self._remove, [self._path(effect.number)]), _removed)

    def _fetched(self, effect: FetchObject, tell: Tell, result: outcome.Outcome[Stored]) -> None:
        trouble = trouble_of(result, FilesError, NoRoomError)
        if trouble is None:
            tell(ObjectFetched(effect.fetch, result.unwrap()))
        else:
            self._log.warning("spilled data not read", reason=str(trouble))
            tell(FetchFailed(effect.fetch, str(trouble), isinstance(trouble, NoRoomError)))

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number}"


@contextmanager
def _breaking() -> Generator[None, None, None]:
    """A read error breaks the stream, and the reader asks another source."""
    try:
        yield
    except (FilesError, StoreError) as error:
        raise BrokenError(str(error)) from None


def number_of(source: str) -> int:
    """Its number there."""
    return int(source.removeprefix(FAR))


def _removed(result: outcome.Outcome[None]) -> None:
    result.unwrap()  # an error in our thread is our bug
