"""Large constants of clients, as files in the server's work folder.

A client sends them ahead of the submission that names them. Until that submission is accepted they
are the client's and go with it; from then on they are the session's, and go when the reactor says
that nobody needs them. Uploads arrive in threads, so everything here is done under a lock.
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from attrs import define

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId, spell
from rain.stream.holder import InFile


@define(eq=False)
class _Constant:
    """One constant that is complete."""

    path: Path
    size: int


class Spool:
    """The folder of constants."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._accounts: dict[bytes, Account] = {}
        self._constants: dict[ObjectId, _Constant] = {}

    def __len__(self) -> int:
        return len(self._constants)

    def find(self, object_id: ObjectId) -> InFile | None:
        """The file of a constant, opened."""
        with self._lock:
            constant = self._constants.get(object_id)
            return None if constant is None else InFile.open(constant.path)

    def discard(self, object_ids: Iterable[ObjectId]) -> None:
        """Nobody needs these constants; those that are not here never were, or have gone before."""
        with self._lock:
            for object_id in object_ids:
                constant = self._constants.pop(object_id, None)
                if constant is not None:
                    constant.path.unlink()

    def join(self) -> Account:
        """A new client."""
        account = Account(self, secrets.token_bytes(16))
        with self._lock:
            self._accounts[account.key] = account
        return account

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> Upload:
        """Room for one constant; `RefusedError` says why there is none."""
        with self._lock:
            account = self._accounts.get(key)
            if account is None:
                raise RefusedError("this upload belongs to no client that is connected")
            if object_id in self._constants and object_id not in account.pending:
                raise RefusedError(f"the constant {spell(object_id)} was uploaded before")
            path = self._folder / str(next(self._numbers))
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC)
                os.fchmod(descriptor, 0o444)  # tasks see the file itself, whatever our umask is
            except OSError as error:
                raise RefusedError(account.refuse(object_id, self._folder, error)) from None
        try:
            os.posix_fallocate(descriptor, 0, max(length, 1))
            os.ftruncate(descriptor, length)
        except OSError as error:
            os.close(descriptor)
            path.unlink()
            raise RefusedError(account.refuse(object_id, self._folder, error)) from None
        return Upload(self, account, object_id, path, length, descriptor)

    def close(self) -> None:
        """The server ends."""
        shutil.rmtree(self._folder)

    def complete(self, upload: Upload) -> None:
        with self._lock:
            if upload.account.key not in self._accounts:  # the client has gone meanwhile
                upload.path.unlink()
                return
            before = self._constants.get(upload.object)
            if before is not None:  # the client was not sure that it had arrived
                before.path.unlink()
            self._constants[upload.object] = _Constant(upload.path, upload.length)
            upload.account.pending[upload.object] = None

    def leave(self, account: Account) -> None:
        with self._lock:
            self._accounts.pop(account.key, None)

    def size(self, object_id: ObjectId) -> int:
        with self._lock:
            return self._constants[object_id].size


class Account:
    """The uploads of one client (`rain.rpc.handlers.Uploads`)."""

    def __init__(self, spool: Spool, key: bytes) -> None:
        self.key = key
        self.pending: dict[ObjectId, None] = {}  # complete, and named by no accepted submission
        self._spool = spool
        self._refusal = ""

    def size(self, object_id: ObjectId) -> int:
        if object_id not in self.pending:
            raise ProtocolError(f"the constant {spell(object_id)} was not uploaded")
        return self._spool.size(object_id)

    def refuse(self, object_id: ObjectId, folder: Path, error: OSError) -> str:
        """Notes why an upload cannot be taken; the submission that names it fails with that."""
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
    """One constant on its way (`rain.stream.holder.UnfinishedUpload`)."""

    _spool: Spool
    account: Account
    object: ObjectId
    path: Path
    length: int
    descriptor: int

    def complete(self) -> None:
        os.close(self.descriptor)
        self._spool.complete(self)

    def abandon(self) -> None:
        os.close(self.descriptor)
        self.path.unlink()
