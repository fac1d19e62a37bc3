"""The specs and infos of tasks, data objects and sessions that users see.

A spec describes what the user requested, an info what happened. In JSON, empty values are left out,
and unknown names are refused.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeGuard

from attrs import define, field, fields

from rain.common.errors import RainException
from rain.common.ids import ID
from rain.common.runs import RunInfo


def _no_ids() -> list[ID]:
    return []


def _no_inputs() -> list["TaskSpecInput"]:
    return []


def _no_notes() -> dict[str, Any]:
    return {}


@define
class Attributes:
    """The base class of specs and infos."""

    # The fields with an id, which is a pair in JSON.
    _IDS: ClassVar[frozenset[str]] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Converts to a dictionary of plain values, without empty ones and without `tries` of 1."""
        values: dict[str, Any] = {}
        for attribute in fields(type(self)):
            value = getattr(self, attribute.name)
            if attribute.name == "tries" and value == 1:
                continue
            if value or (attribute.name == "config" and value is not None):
                values[attribute.name] = _plain(value)
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The reverse of `to_json`; raises RainException for an unknown name."""
        known = {attribute.name for attribute in fields(cls)}
        surplus = sorted(set(values) - known)
        if surplus:
            raise RainException(f"{cls.__name__} has no {', '.join(surplus)}")
        return cls(**{name: cls._read(name, value) for name, value in values.items()})

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        return ID(*value) if name in cls._IDS else value


def _plain(value: Any) -> Any:
    if isinstance(value, ID):
        return list(value)
    if isinstance(value, Attributes | RunInfo):
        return value.to_json()
    if _is_list(value):
        return [_plain(item) for item in value]
    return value


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


@define
class TaskSpecInput(Attributes):
    """One input of a task."""

    _IDS: ClassVar[frozenset[str]] = frozenset({"id"})

    id: ID
    label: str | None = None


@define
class TaskSpec(Attributes):
    """The specification of a task."""

    _IDS: ClassVar[frozenset[str]] = frozenset({"id"})

    id: ID
    task_type: str
    config: Any = None
    inputs: list[TaskSpecInput] = field(factory=_no_inputs)
    outputs: list[ID] = field(factory=_no_ids)
    resources: dict[str, Any] = field(factory=_no_notes)  # numbers; memory may be "2GiB"
    name: str | None = None
    user: dict[str, Any] = field(factory=_no_notes)
    tries: int = 1
    priority: int = 0

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        if name == "inputs":
            return [TaskSpecInput.from_json(entry) for entry in value]
        if name == "outputs":
            return [ID(*entry) for entry in value]
        return ID(*value) if name == "id" else value


def _no_runs() -> list[RunInfo]:
    return []


@define
class TaskInfo(Attributes):
    """What happened to a task.

    `runs` are all of its runs in their order; of a task that ran very often, the latest and those
    that failed. Governor, times and debug text are those of the last one. `cache` says whether the
    outputs came from the cache, or why the task had to run; "" for tasks without a cache. While a
    task that is late runs twice, `second_run` is the run beside the last one; its number counts by
    itself.
    """

    error: str = ""
    start_time: str = ""
    duration: float | None = None
    governor: str = ""
    user: dict[str, Any] = field(factory=_no_notes)
    debug: str = ""
    runs: list[RunInfo] = field(factory=_no_runs)
    cache: str = ""
    second_run: RunInfo | None = None

    @property
    def failed_tries(self) -> list[RunInfo]:
        """Those of its runs that have failed."""
        return [run for run in self.runs if run.has_failed]

    @property
    def peak_memory(self) -> int:
        """The most bytes of memory that its last run had; 0 for a short run: nobody has looked."""
        return self.runs[-1].peak_memory if self.runs else 0

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        if name == "runs":
            return [RunInfo(**entry) for entry in value]
        return RunInfo(**value) if name == "second_run" and value else value


@define
class ObjectSpec(Attributes):
    """The specification of a data object; `data_type` is "blob" or "dir"."""

    _IDS: ClassVar[frozenset[str]] = frozenset({"id"})

    id: ID
    label: str | None = None
    content_type: str | None = None
    data_type: str = "blob"
    user: dict[str, Any] = field(factory=_no_notes)


@define
class ObjectInfo(Attributes):
    """What is known about a finished data object."""

    error: str = ""
    size: int | None = None
    content_type: str | None = None
    user: dict[str, Any] = field(factory=_no_notes)
    debug: str = ""


@define
class SessionSpec(Attributes):
    """The name of a session and the user's notes on it."""

    name: str = ""
    user: dict[str, Any] = field(factory=_no_notes)
