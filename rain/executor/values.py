"""Converts the result of a task to the outputs of its answer.

No output: None or (). One: the value. Several: a dictionary by label, or a sequence. Each value is
a data instance, a value with an encoding for the output, or bytes or text.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from rain.base import executor_protocol as protocol
from rain.base.ids import ID, pack
from rain.base.shortage import OwnFiles
from rain.common.content_type import (
    encode_parts,
    encode_value,
    is_type_instance,
    write_value,
    writes_itself,
)
from rain.common.errors import RainException
from rain.common.notes import encode_notes
from rain.common.pickles import PICKLE_PROTOCOL, WITHOUT_BUFFERS, Part
from rain.common.references import finding_references, secure
from rain.common.unpicklable import UNPICKLABLE, what_cannot_be_sent

if TYPE_CHECKING:
    from rain.common.data_instance import DataInstance
    from rain.common.then import Then
    from rain.executor.staging import StagingFolders

_DATA_INSTANCE = "rain.common.data_instance"
_BLOB = "blob"
_PICKLE = "pickle"


def is_instance(value: object) -> TypeGuard[DataInstance]:
    """Whether the value is a data instance; always False before that module is imported."""
    module = sys.modules.get(_DATA_INSTANCE)
    return module is not None and isinstance(value, module.DataInstance)


def blob(
    value: Any, content_type: str | None, encode: str | None, stage: StagingFolders
) -> DataInstance:
    """Makes a data instance: in memory, or in a file if that saves a copy."""
    from rain.common.data_instance import DataInstance  # noqa: PLC0415 # few tasks need it

    if encode is not None:
        if content_type is not None:
            raise RainException("blob: use either content_type or encode")
        with finding_references() as found:
            parts = encode_parts(value, encode)
        if len(parts) > 1:
            made = DataInstance(path=stage.write(parts), content_type=encode)
        else:
            made = DataInstance(data=bytes(parts[0]), content_type=encode)
        made.contents = found or None
        return made
    if isinstance(value, bytes):
        return DataInstance(data=value, content_type=content_type)
    if isinstance(value, str):
        text_type = content_type or "text"
        return DataInstance(data=encode_value(value, text_type), content_type=text_type)
    raise RainException(f"blob: expected bytes or str, not {type(value)!r}; or use encode")


def split(result: Any, kinds: Sequence[protocol.ObjectKindRow]) -> Sequence[Any]:
    """Splits a result into the values of the outputs, in order."""
    if len(kinds) == 1:
        return (result,)
    what = type(result)
    if not kinds:
        if result is None or _is_empty_tuple(result):
            return ()
        raise RainException(f"The task has no outputs, but returned {what!r}")
    if _is_mapping(result):
        return _by_label(result, [kind.label for kind in kinds])
    if not _is_sequence(result):
        raise RainException(
            f"The task has {len(kinds)} outputs: return a dictionary or a sequence, not {what!r}"
        )
    if len(result) != len(kinds):
        raise RainException(f"The task has {len(kinds)} outputs, but returned {len(result)} values")
    return result


def _is_empty_tuple(result: object) -> bool:
    return isinstance(result, tuple) and not result


def _is_mapping(result: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(result, Mapping)


def _is_sequence(result: object) -> TypeGuard[Sequence[Any]]:
    """Whether its items can be outputs; a text is one value."""
    return isinstance(result, Sequence) and not isinstance(result, str | bytes)


def _by_label(result: Mapping[Any, Any], labels: list[str]) -> list[Any]:
    missing = [label for label in labels if label not in result]
    surplus = [label for label in result if label not in labels]
    if missing or surplus:
        raise RainException(
            f"The task has the outputs {labels}; not returned: {missing}, unknown: {surplus}"
        )
    return [result[label] for label in labels]


def is_one_pickle(kinds: Sequence[protocol.ObjectKindRow]) -> bool:
    """Whether tasks with these outputs return one value that is declared to be pickled."""
    return len(kinds) == 1 and kinds[0].content_type == _PICKLE and kinds[0].data_type == _BLOB


def small_pickle(result: object, encoding: str | None) -> bytes | None:
    """The fast path for the most common answer: one small plain value that is pickled.

    Returns None for all others, which `split` and `Outputs` handle.
    """
    if type(result) not in WITHOUT_BUFFERS or encoding != _PICKLE:
        return None
    data = pickle.dumps(result, PICKLE_PROTOCOL)
    return data if len(data) <= protocol.INLINE_RESULT else None


def handed_on(then: Then, outputs: int) -> dict[str, list[int]]:
    """The answer of a call whose output another one makes."""
    if outputs != 1:
        raise RainException(
            f"then: only a task with one output can pass on its result; this one has {outputs}"
        )
    return {protocol.HANDED_ON: secure({then.future.object_id: then.future})}


class Outputs:
    """Makes the outputs of one answer; a file in two outputs is copied."""

    def __init__(
        self,
        is_input: Callable[[ID], bool],
        stage: StagingFolders,
        inline: int = protocol.INLINE_RESULT,
    ) -> None:
        self._is_input = is_input
        self._stage = stage
        self._inline = inline  # larger outputs become files
        self.taken: set[str] = set()  # the files of this answer

    def output(self, value: Any, encode: str | None, kind: protocol.ObjectKindRow) -> Any:
        """Makes one output in the form of answers."""
        if is_instance(value):
            return self._instance(value, kind)
        if encode == protocol.DATA_OR_PICKLE:
            encode = None if isinstance(value, bytes | str) else _PICKLE
        content_type = ""
        inside: list[int] = []
        if encode and writes_itself(value, encode):
            return self._written(value, encode, kind)
        if encode:
            with finding_references() as found:
                parts = _parts(value, encode)
            if found:
                inside = secure(found)
            content_type = encode
        elif isinstance(value, bytes):
            parts = [value]
        elif isinstance(value, str):
            content_type = kind.content_type if kind.content_type.startswith("text") else "text"
            parts = [encode_value(value, content_type)]
        else:
            raise RainException(
                f"The output {kind.label!r} is {type(value)!r}: return bytes, str or a data"
                ' instance, or say how it is encoded: write @remote(auto_encode="pickle") before'
                " the function"
            )
        _agree(_BLOB, kind)
        return _with_contents(self._told(parts, content_type, "", kind), inside)

    def _written(self, value: Any, content_type: str, kind: protocol.ObjectKindRow) -> Any:
        """The output of a value that is written bit by bit."""
        _agree(_BLOB, kind)
        with finding_references() as found:
            path = self._stage.write_by(value.size, lambda file, _: write_value(value, file))
        self.taken.add(path)
        told = [protocol.FILE, path, _found(content_type, kind), ""]
        return _with_contents(told, secure(found) if found else [])

    def _instance(self, value: DataInstance, kind: protocol.ObjectKindRow) -> Any:
        _agree(value.data_type.value, kind)
        content_type = _found(value.content_type or "", kind)
        user = encode_notes(value.info.user) if value.info is not None and value.info.user else ""
        if value.object_id is not None and self._is_input(value.object_id):
            return [protocol.INPUT, pack(*value.object_id), content_type, user]
        inside = secure(value.contents) if value.contents else []
        if value.path is not None and self._stage.owns(value.path):
            return _with_contents([protocol.FILE, self._own(value), content_type, user], inside)
        return _with_contents(self._told([value.get_bytes()], content_type, user, kind), inside)

    def _own(self, value: DataInstance) -> str:
        """Returns a path in the stage folder that no other output uses."""
        path = str(value.path)
        if path in self.taken:
            path = self._stage.new_path()
            with OwnFiles(f"cannot write into {self._stage.folder}"):
                value.write(path)
        self.taken.add(path)
        return path

    def _told(
        self,
        parts: Sequence[bytes | memoryview],
        content_type: str,
        user: str,
        kind: protocol.ObjectKindRow,
    ) -> Any:
        """The output of bytes; only the bytes if they are few and there is nothing to add."""
        content_type = _found(content_type, kind)
        if sum(map(len, parts)) > self._inline and kind.data_type == _BLOB:
            path = self._stage.write(parts)
            self.taken.add(path)
            return [protocol.FILE, path, content_type, user]
        data = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        return [protocol.BYTES, data, content_type, user] if content_type or user else data


def _parts(value: object, encode: str) -> Sequence[Part]:
    try:
        return encode_parts(value, encode)
    except UNPICKLABLE as error:
        if encode == _PICKLE:
            what = what_cannot_be_sent(value, error)
            error.add_note(f"What the function has returned cannot be sent{what}")
        raise


def _with_contents(told: Any, inside: list[int]) -> Any:
    """The output, and the objects of the futures inside of it, if there are any."""
    if not inside:
        return told
    row = [protocol.BYTES, told, "", ""] if isinstance(told, bytes) else told
    return [*row, inside]


def _found(content_type: str, kind: protocol.ObjectKindRow) -> str:
    """The content type to report: "" if it is the declared one."""
    declared = kind.content_type
    if content_type in {"", declared}:
        return ""
    if declared and not is_type_instance(content_type, declared):
        raise RainException(
            f"The output {kind.label!r} is declared as {declared!r}, but is {content_type!r}"
        )
    return content_type


def _agree(data_type: str, kind: protocol.ObjectKindRow) -> None:
    if data_type != kind.data_type:
        names = {_BLOB: "blob"}
        raise RainException(
            f"The output {kind.label!r} (content type {kind.content_type!r}) is a"
            f" {names.get(kind.data_type, 'directory')}, but a"
            f" {names.get(data_type, 'directory')} was returned"
        )
