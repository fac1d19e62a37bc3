"""The files and bytes that executors of other languages exchange with the governor."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, spell
from rain.base.kinds import DataType, ObjectKind
from rain.common.content_type import is_type_instance
from rain.common.errors import RainException
from rain.common.fs import unpack
from rain.governor.core.results import Content, Failed, Made, Outputs, PassedOn, Stored
from rain.governor.executors.cbor_calls import Call, UncallableError
from rain.governor.executors.cbor_replies import AtPath, Inline, OtherObject, Result, SaidOutput
from rain.governor.programs.sandbox import BuiltinError, collect
from rain.governor.storage.errors import StoreError, not_stored
from rain.governor.storage.store import Store
from rain.stream.removing import remove


class ExchangeFolder:
    """The inputs and outputs of one executor; `folder` belongs to it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._unpacked: dict[ObjectId, Path] = {}

    # Downwards.

    def place(self, object_id: ObjectId, kind: ObjectKind, content: Content) -> bytes | str:
        """Returns the bytes of an object in memory, a path for a stored object or any directory."""
        if isinstance(content, int):
            return str(self._store.path(content))
        if kind.data_type is not DataType.DIRECTORY:
            return content
        # Most languages read folders more easily than archives.
        target = self._folder / "inputs" / spell(object_id)
        self._unpacked[object_id] = target
        try:
            unpack(content, target)
        except (OSError, RainException) as error:
            raise UncallableError(
                f"the directory {spell(object_id)} cannot be unpacked: {error}"
            ) from None
        return str(target)

    def clear(self, kept: AbstractSet[ObjectId]) -> None:
        """Removes unpacked inputs that the executor did not ask to keep."""
        for object_id in [one for one in self._unpacked if one not in kept]:
            # What cannot be removed now is removed with the executor's folder.
            with suppress(OSError):
                remove(self._unpacked.pop(object_id))

    # Upwards.

    def outputs(self, call: Call, result: Result) -> Outputs | Failed:
        """Takes the outputs of a successful call; raises `ProtocolError` for a forbidden one."""
        if len(result.outputs) != len(call.outputs):
            return Failed(
                f"the task made {len(result.outputs)} outputs instead of {len(call.outputs)}",
                result.debug,
            )
        made: Outputs = []
        try:
            for (_, kind), said in zip(call.outputs, result.outputs, strict=True):
                made.append(self._output(call, kind, said))
        except BuiltinError as error:
            self._store.discard(made)
            return Failed(str(error), result.debug)
        except StoreError as error:
            self._store.discard(made)
            return not_stored(error, result.debug)
        except ProtocolError:
            self._store.discard(made)
            raise
        return made

    def _output(self, call: Call, kind: ObjectKind, said: SaidOutput) -> bytes | Made:
        what = f"the output {kind.spelled}"
        if said.error:
            raise BuiltinError(f"{what} has failed: {said.error}")
        found = "" if said.content_type == kind.content_type else said.content_type
        if found and kind.content_type and not is_type_instance(found, kind.content_type):
            raise BuiltinError(f"the executor says that {what} is {found!r}")
        content: bytes | Stored | PassedOn
        match said.location:
            case Inline(data):
                content = self._bytes(what, kind, data)
            case AtPath(path):
                content = self._file(kind, path)
            case OtherObject(other):
                content = _passed_on(what, call, kind, other)
            case None:
                raise BuiltinError(f"{what} is missing: the executor gave no location")
        if isinstance(content, bytes) and not found and not said.user:
            return content
        return Made(content, found, said.user)

    def _bytes(self, what: str, kind: ObjectKind, data: bytes) -> bytes | Stored:
        if kind.data_type is not DataType.DIRECTORY:
            return self._store.keep(data)
        if not _is_archive(data):
            raise BuiltinError(f"{what} must be a directory, but its data is not a tar archive")
        return data

    def _file(self, kind: ObjectKind, said: str) -> bytes | Stored:
        """Takes a file or directory; links are resolved before its location is checked."""
        path = Path(said)
        if not path.is_absolute() or "\0" in said:
            raise ProtocolError(f"the path {said!r:.200} of an output is not absolute")
        try:
            path = path.resolve()
            own = self._folder.resolve()
            if path == own or not path.is_relative_to(own):
                raise ProtocolError(f"the path {said!r:.200} of an output is not inside of {own}")
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise ProtocolError(f"at {said!r:.200} is neither a file nor a directory")
            content = collect(self._store, path, said, kind)
            if isinstance(content, bytes):
                path.unlink()
        except (OSError, RuntimeError) as error:  # the latter for a loop of links
            raise BuiltinError(f"the path {said!r:.200} cannot be taken: {error}") from None
        return content


def _passed_on(what: str, call: Call, kind: ObjectKind, other: ObjectId) -> PassedOn:
    for one in call.inputs:
        if one.id == other:
            if one.kind.data_type is not kind.data_type:
                raise BuiltinError(
                    f"{what} must be of the type {kind.data_type.value!r}, but the input"
                    f" {spell(other)} that was passed on is not"
                )
            return PassedOn(other)
    raise BuiltinError(f"{what} is the object {spell(other)}, which is not an input of the task")


def _is_archive(data: bytes) -> bool:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:"):
            return True
    except (tarfile.TarError, ValueError, OverflowError):
        return False
