"""Stores large constants of clients as files of the server.

A client uploads them before the submission that names them. Until that submission is accepted they
belong to the client and are removed with it. Then they belong to the session, and are removed when
the reactor does not need them any more. Uploads arrive in threads, so a lock protects all data.

The folder of a server with a journal lasts: it keeps the files that its objects need. A file counts
when it is complete and durable. Its name is a number and the object, and has an ending while it is
not complete. Other folders keep some removed files for a while, so that clients write their next
uploads over them (`rain/stream/spare_uploads.py`).
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from attrs import define

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId, spell
from rain.daemon.folders import sync_folder
from rain.stream.holder import InFile
from rain.stream.spare_files import LEAST
from rain.stream.spare_uploads import SpareUploads

_INCOMPLETE = ".part"
_GENERATION_BITS = 32  # of the number of a file; those below count the files of a server


@define(eq=False)
class _Constant:
    """One complete constant."""

    path: Path
    size: int


class Spool:
    """The folder of constants."""

    def __init__(
        self, folder: Path, *, lasts: bool = False, spares: SpareUploads | None = None
    ) -> None:
        self._place = folder
        self._lasts = lasts
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._accounts: dict[bytes, UploadAccount] = {}
        self._constants: dict[ObjectId, _Constant] = {}
        self.spares = spares  # files that have been removed

    def __len__(self) -> int:
        return len(self._constants)

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._place

    def restore(self, wanted: Collection[ObjectId], generation: int = 0) -> list[ObjectId]:
        """Takes up the files of an earlier server, and removes those that are not wanted.

        The files are renamed for this generation. So an earlier server that was replaced while it
        was suspended cannot remove them. Returns which of the wanted constants are missing.
        """
        with self._lock:
            self._numbers = itertools.count(generation << _GENERATION_BITS)
            found = sorted((_number_and_object(path), path) for path in self.folder.iterdir())
            for (_, object_id), path in found:
                before = self._constants.pop(object_id, None)
                if before is not None:  # the client has repeated an upload
                    before.path.unlink()
                if object_id in wanted and path.suffix != _INCOMPLETE:
                    renamed = path.rename(self._new_path(object_id))
                    self._constants[object_id] = _Constant(renamed, renamed.stat().st_size)
                else:
                    path.unlink()
            return [object_id for object_id in wanted if object_id not in self._constants]

    def _new_path(self, object_id: ObjectId) -> Path:
        return self.folder / f"{next(self._numbers)}-{object_id:x}"

    def find(self, object_id: ObjectId) -> InFile | None:
        """Opens the file of a constant."""
        with self._lock:
            constant = self._constants.get(object_id)
            return None if constant is None else InFile.open(constant.path)

    def discard(self, object_ids: Iterable[ObjectId]) -> None:
        """Removes these constants; missing ones are ignored."""
        with self._lock:
            for object_id in object_ids:
                constant = self._constants.pop(object_id, None)
                if constant is not None and not self._keep(constant):
                    constant.path.unlink(missing_ok=self._lasts)  # see `restore`

    def _keep(self, constant: _Constant) -> bool:
        """Whether the file of a constant that has gone was kept to be written over."""
        if self.spares is None or constant.size < LEAST:
            return False
        return self.spares.keep(constant.path)

    def join(self) -> UploadAccount:
        """Opens an account for a new client."""
        account = UploadAccount(self, secrets.token_bytes(16))
        with self._lock:
            self._accounts[account.key] = account
        return account

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> Upload:
        """Reserves space for one constant; raises `RefusedError` if it cannot."""
        with self._lock:
            account, path = self._begin(key, object_id)
            begun = path.with_suffix(_INCOMPLETE)
            try:
                descriptor = os.open(begun, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC)
                os.fchmod(descriptor, 0o444)  # tasks may read the file itself
            except OSError as error:
                raise RefusedError(account.refuse(object_id, self.folder, error)) from None
        try:
            os.posix_fallocate(descriptor, 0, max(length, 1))
            os.ftruncate(descriptor, length)
        except OSError as error:
            os.close(descriptor)
            begun.unlink()
            raise RefusedError(account.refuse(object_id, self.folder, error)) from None
        return Upload(self, account, object_id, path, length, descriptor)

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> Adoption:
        """Begins to take over a file that its client has written here, and gives a name."""
        with self._lock:
            account, path = self._begin(key, object_id)
        return Adoption(self, account, object_id, path, length)

    def _begin(self, key: bytes, object_id: ObjectId) -> tuple[UploadAccount, Path]:
        """The account of an upload and the path where it will be."""
        account = self._accounts.get(key)
        if account is None:
            raise RefusedError("this upload belongs to no connected client")
        if object_id in self._constants and object_id not in account.pending:
            raise RefusedError(f"the constant {spell(object_id)} was uploaded before")
        return account, self._new_path(object_id)

    def close(self) -> None:
        """Removes everything at the end of the server, unless the next one goes on with it."""
        if not self._lasts:
            shutil.rmtree(self.folder)

    def complete(self, upload: Upload) -> None:
        if self._lasts:
            os.fsync(upload.descriptor)
        with self._lock:
            if upload.account.key not in self._accounts:  # the client has left meanwhile
                upload.begun.unlink()
                return
            upload.begun.rename(upload.path)
            if self._lasts:
                sync_folder(self.folder)
            before = self._constants.get(upload.object)
            if before is not None:  # the client has repeated an upload
                before.path.unlink()
            self._constants[upload.object] = _Constant(upload.path, upload.length)
            upload.account.pending[upload.object] = None

    def leave(self, account: UploadAccount) -> None:
        with self._lock:
            self._accounts.pop(account.key, None)

    def size(self, object_id: ObjectId) -> int:
        with self._lock:
            return self._constants[object_id].size


class UploadAccount:
    """The uploads of one client (`rain.rpc.handlers.ConstantUploads`)."""

    def __init__(self, spool: Spool, key: bytes) -> None:
        self.key = key
        self.pending: dict[ObjectId, None] = {}  # complete, but not yet in an accepted submission
        self._spool = spool
        self._refusal = ""

    def size(self, object_id: ObjectId) -> int:
        if object_id not in self.pending:
            raise ProtocolError(f"the constant {spell(object_id)} was not uploaded")
        return self._spool.size(object_id)

    def refuse(self, object_id: ObjectId, folder: Path, error: OSError) -> str:
        """Notes why an upload is refused; the submission that names it fails with this reason."""
        self._refusal = (
            f"the constant {spell(object_id)} cannot be stored: {folder} on the server:"
            f" {error.strerror}"
        )
        return self._refusal

    def take_refusal(self) -> str:
        refusal, self._refusal = self._refusal, ""
        return refusal

    def accept(self, object_ids: Sequence[ObjectId]) -> None:
        for object_id in object_ids:
            self.pending.pop(object_id, None)

    def discard(self, object_ids: Sequence[ObjectId] | None = None) -> None:
        unwanted = list(self.pending) if object_ids is None else object_ids
        self.accept(unwanted)
        self._spool.discard(unwanted)

    def close(self) -> None:
        self._spool.leave(self)
        self.discard()


@define(eq=False)
class Upload:
    """One upload in progress (`rain.stream.holder.UnfinishedUpload`)."""

    _spool: Spool
    account: UploadAccount
    object: ObjectId
    path: Path
    length: int
    descriptor: int

    @property
    def begun(self) -> Path:
        """Where it is until it is complete."""
        return self.path.with_suffix(_INCOMPLETE)

    def complete(self) -> None:
        try:
            self._spool.complete(self)
        finally:
            os.close(self.descriptor)

    def abandon(self) -> None:
        os.close(self.descriptor)
        self.begun.unlink()


@define(eq=False)
class Adoption:
    """A client's own file, which gets a name here (`rain.stream.holder.UnfinishedAdoption`)."""

    _spool: Spool
    _account: UploadAccount
    _object: ObjectId
    _path: Path
    _length: int

    @property
    def begun(self) -> Path:
        """Where it is until it is complete."""
        return self._path.with_suffix(_INCOMPLETE)

    def complete(self) -> None:
        """Takes it; `ProtocolError` if the client has not linked what it has promised."""
        try:
            descriptor = os.open(self.begun, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise ProtocolError(f"the file of an upload is not there: {error.strerror}") from None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size != self._length:
            os.close(descriptor)
            raise ProtocolError(f"an upload of {self._length} bytes is a file of another size")
        account, object_id = self._account, self._object
        Upload(self._spool, account, object_id, self._path, self._length, descriptor).complete()

    def abandon(self) -> None:
        self.begun.unlink(missing_ok=True)


def _number_and_object(path: Path) -> tuple[int, ObjectId]:
    number, _, object_id = path.stem.partition("-")
    return int(number), ObjectId(int(object_id, 16))
