"""Decodes the messages of executors of other languages (protocol "cbor-1"; see the guide).

A message is an array of a name and a map. These programs are foreign, so nothing in their messages
is trusted: whatever is wrong raises a `ProtocolError` that names it, and the executor is killed.
"""

from __future__ import annotations

import json
from typing import Any, TypeGuard

import cbor2
from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, TaskId, pack
from rain.common.notes import NOTES_LIMIT

TEXT_LIMIT = 256 * 1024
"""Texts for people are cut at this length, so that they fit into messages to the server."""


@frozen
class ExecutorRegistered:
    """The first message of an executor."""

    protocol: str
    executor: int
    executor_type: str


@frozen
class Inline:
    """The output is in the message."""

    data: bytes


@frozen
class AtPath:
    """The output is a file or directory that the governor may move away."""

    path: str


@frozen
class OtherObject:
    """The output is another object, unchanged."""

    object: ObjectId


@frozen
class SaidOutput:
    """One output; no location means that there is none."""

    location: Inline | AtPath | OtherObject | None
    content_type: str
    user: str  # JSON
    error: str


@frozen
class Result:
    """The result of a call."""

    task: TaskId
    success: bool
    error: str
    debug: str
    user: str  # JSON
    outputs: tuple[SaidOutput, ...]
    cached: tuple[ObjectId, ...]


def decode_reply(body: bytes) -> ExecutorRegistered | Result:
    """Decodes one message; raises nothing but `ProtocolError`."""
    try:
        message: Any = cbor2.loads(body)
    # Which errors other than its own the library raises depends on its version.
    except (cbor2.CBORDecodeError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"a message is not CBOR: {error}") from None
    if not (_is_list(message) and len(message) == 2):
        raise ProtocolError("a message is not an array of a name and a map")
    name, said = message
    match name:
        case "register":
            return _registered(_Map(name, said))
        case "result":
            return _result(_Map(name, said))
        case _:
            raise ProtocolError(f"there is no message {_shown(name)}")


class _Map:
    """A map whose keys must all be known; its values are read by type."""

    def __init__(self, where: str, value: object) -> None:
        if not _is_map(value):
            raise ProtocolError(f"{where} is not a map")
        self._where = where
        self._value = value

    def only(self, *known: str) -> _Map:
        for key in self._value:
            if key not in known:
                raise ProtocolError(f"{self._where} has the unknown key {_shown(key)}")
        return self

    def get(self, key: str) -> Any:
        """The value, None when it is missing."""
        return self._value.get(key)

    def text(self, key: str) -> str:
        """A text, empty when it is missing or null."""
        value = self.get(key)
        if value is None:
            return ""
        if type(value) is not str:
            raise self.wrong(key, "a text")
        return value if len(value) <= TEXT_LIMIT else f"{value[:TEXT_LIMIT]}\n(and so on)"

    def items(self, key: str) -> list[Any]:
        """A list, empty when it is missing or null."""
        value = self.get(key)
        if value is None:
            return []
        if not _is_list(value):
            raise self.wrong(key, "an array")
        return value

    def notes(self, key: str) -> str:
        """The user's own map as JSON, "" when there is none."""
        value = self.get(key)
        if value is None or value == {}:
            return ""
        if not _is_map(value):
            raise self.wrong(key, "a map")
        if not all(isinstance(name, str) for name in value):
            raise self.wrong(key, "a map with texts as keys")
        try:
            notes = json.dumps(value, allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            raise self.wrong(key, "a map that JSON can hold") from None
        if len(notes) > NOTES_LIMIT:
            raise self.wrong(key, f"a map of at most {NOTES_LIMIT} bytes")
        return notes

    def wrong(self, key: str, wanted: str) -> ProtocolError:
        return ProtocolError(f"{self._where}: {key!r} must be {wanted}")


def _registered(said: _Map) -> ExecutorRegistered:
    said.only("protocol", "executor_id", "executor_type")
    number = said.get("executor_id")
    if type(number) is not int:
        raise said.wrong("executor_id", "a whole number")
    return ExecutorRegistered(said.text("protocol"), number, said.text("executor_type"))


def _result(said: _Map) -> Result:
    said.only("task", "success", "info", "outputs", "cached_objects")
    success = said.get("success")
    if type(success) is not bool:
        raise said.wrong("success", "true or false")
    given = said.get("info")
    info = _Map("the info of a task", {} if given is None else given)
    info.only("error", "start_time", "duration", "governor", "user", "debug")
    return Result(
        TaskId(_id("task", said.get("task"))),
        success,
        info.text("error"),
        info.text("debug"),
        info.notes("user"),
        tuple(_output(output) for output in said.items("outputs")),
        tuple(ObjectId(_id("cached_objects", one)) for one in said.items("cached_objects")),
    )


def _output(value: object) -> SaidOutput:
    said = _Map("an output", value).only("info", "location", "cache_hint")
    given = said.get("info")
    info = _Map("the info of an output", {} if given is None else given)
    info.only("error", "size", "content_type", "user", "debug")
    return SaidOutput(
        _location(said.get("location")),
        info.text("content_type"),
        info.notes("user"),
        info.text("error"),
    )


def _location(value: object) -> Inline | AtPath | OtherObject | None:
    if value is None:
        return None
    if _is_list(value) and len(value) == 2:
        where, what = value
        if where == "memory" and type(what) is bytes:
            return Inline(what)
        if where == "path" and type(what) is str:
            return AtPath(what)
        if where == "other_object":
            return OtherObject(ObjectId(_id("other_object", what)))
    raise ProtocolError(f"there is no location {_shown(value)}")


def _id(where: str, value: object) -> int:
    if _is_list(value) and len(value) == 2 and all(type(part) is int for part in value):
        try:
            return pack(value[0], value[1])
        except ValueError:
            pass
    raise ProtocolError(f"{where}: {_shown(value)} is not an id [session, number]")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _is_map(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
