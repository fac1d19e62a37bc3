"""Shapes: the properties that many tasks or data objects have in common.

When they are submitted, equal shapes become one kind of the session, with a number
(`rain.base.kinds`). Ten thousand calls of one function refer to one shape.
"""

import json
from collections.abc import Mapping
from math import ceil, inf
from typing import Any, NamedTuple

from rain.base import constraints as base_constraints
from rain.base.attempts import MOST_TRIES, ONE_TRY, Attempts
from rain.base.constraints import Constraints
from rain.base.kinds import MOST_PRIORITY
from rain.base.near import Near
from rain.base.resources import CPUS, MEMORY, Resources, checked_amount
from rain.common.data_type import DataType
from rain.common.errors import RainException

SHAPES_REMEMBERED = 1000
"""Shapes of calls that one function remembers."""


class ObjectShape(NamedTuple):
    """Label, declared content type, data type ("blob" or "dir"), user's notes, expected size."""

    label: str | None = None
    content_type: str | None = None
    data_type: str = DataType.BLOB.value
    user: str = ""  # JSON
    size_hint: int = 0


class TaskShape(NamedTuple):
    """The type and needs of a task: everything but its inputs and its config."""

    task_type: str
    name: str | None = None
    resources: tuple[tuple[str, int], ...] = ((CPUS, 1),)
    labels: tuple[str | None, ...] = ()  # empty when no input has one, else one for each input
    outputs: tuple[ObjectShape, ...] = ()
    user: str = ""  # JSON
    duration: float = 0.0  # expected seconds, 0 for unknown
    constraints: Constraints | None = None
    attempts: Attempts = ONE_TRY
    priority: int = 0
    cache: str = ""  # the folder that keeps its results, "" for none
    idempotent: bool | None = None  # whether it may run twice at a time; None: as its session says
    environment: str = ""  # the text of its environment, "" for none
    near: tuple[Near, ...] = ()  # what it reads from outside of the store


PLAIN_BLOB = ObjectShape()


def notes_as_json(what: str, notes: Mapping[str, Any]) -> str:
    """The user's notes on a thing as the wire wants them; empty ones are not mentioned."""
    if not notes:
        return ""
    try:
        return json.dumps(notes)
    except (TypeError, ValueError) as error:
        raise RainException(f"The user attributes of {what} are not JSON: {error}") from error


def resources_of(shape: TaskShape) -> Resources:
    """The resources of a task as the wire wants them."""
    return Resources.of(dict(shape.resources))


def checked_resources(what: str, amounts: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Named amounts in a form that can be compared; RainException when they are none."""
    try:
        return tuple(sorted((name, checked_amount(name, value)) for name, value in amounts.items()))
    except ValueError as error:
        raise RainException(f"{what}: {error}") from None


def with_memory(resources: Mapping[str, Any] | None, memory: object) -> dict[str, Any]:
    """The amounts that a user names, with the memory that has an argument of its own."""
    amounts = dict(resources or {})
    if memory is not None:
        amounts[MEMORY] = memory
    return amounts


def checked_constraints(what: str, given: Mapping[str, object] | None) -> Constraints | None:
    """Where a task may run, as the user says; RainException if that is invalid."""
    try:
        return base_constraints.checked_constraints(given or {})
    except ValueError as error:
        raise RainException(f"{what}: {error}") from None


def checked_duration(what: str, seconds: object) -> float:
    """How long the user expects a task to take; 0 if not given."""
    return checked_seconds(what, "duration", seconds)


def checked_seconds(what: str, named: str, seconds: object) -> float:
    """A number of seconds; 0 if not given."""
    if seconds is None:
        return 0.0
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < inf:
        return float(seconds)
    raise RainException(f"{what}: {named} is a number of seconds above 0, not {seconds!r}")


def checked_size_hint(what: str, size: Any) -> int | None:
    """The expected bytes, rounded up; RainException when that is no sensible number."""
    if size is None:
        return None
    if not isinstance(size, int | float) or isinstance(size, bool) or not 0 <= size < 2**63:
        raise RainException(f"{what}: size_hint is {size!r}; it must be a number of bytes")
    return ceil(size)


def checked_attempts(
    what: str,
    tries: Any = 1,
    crash_tries: Any = None,
    backoff: Any = None,
    timeout: Any = None,
    memory_tries: Any = None,
) -> Attempts:
    """How often a task may be run; RainException if that is invalid."""
    return Attempts(
        checked_tries(what, tries),
        0 if crash_tries is None else checked_tries(what, crash_tries, "crash_tries"),
        checked_seconds(what, "backoff", backoff),
        checked_seconds(what, "timeout", timeout),
        memory_tries=0
        if memory_tries is None
        else checked_tries(what, memory_tries, "memory_tries"),
    )


def checked_tries(what: str, tries: Any, named: str = "tries") -> int:
    """How often a task may be tried; RainException when that is no sensible number."""
    if not isinstance(tries, int) or isinstance(tries, bool) or not 1 <= tries <= MOST_TRIES:
        raise RainException(
            f"{what}: {named} is {tries!r}; it must be a whole number from 1 to {MOST_TRIES}"
        )
    return tries


def checked_idempotent(what: str, idempotent: Any) -> bool | None:
    """Whether tasks may run twice at a time; None leaves it to the session."""
    if idempotent is None or type(idempotent) is bool:
        return idempotent
    raise RainException(f"{what}: idempotent is {idempotent!r}; it must be True or False")


def checked_priority(what: str, priority: Any) -> int:
    """A priority; RainException when it is no whole number, or too large."""
    if type(priority) is not int or abs(priority) > MOST_PRIORITY:
        raise RainException(
            f"{what}: priority is {priority!r}; it must be a whole number from {-MOST_PRIORITY}"
            f" to {MOST_PRIORITY}, and larger ones go first"
        )
    return priority
