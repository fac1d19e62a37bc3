"""The codec of kinds: the properties that many tasks or many objects have in common.

A kind that a user has described is checked before it is sent, by the same rules as one that a peer
has sent: a client with unreadable kinds would lose its connection.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

from rain.base.attempts import Attempts
from rain.base.constraints import Constraints
from rain.base.environment import read_environment
from rain.base.errors import RefusedError
from rain.base.kinds import MOST_PRIORITY, DataType, ObjectKind, TaskKind
from rain.base.near import Near
from rain.base.resources import LARGEST, Resources
from rain.rpc.codec.amounts import read_amounts, write_amounts
from rain.rpc.codec.record import choices
from rain.rpc.interface import Fields

_MOST_TRIES: Final = 2**32 - 1
_DATA_TYPE: Final = choices(DataType)
_NO_CONSTRAINTS: Final = Constraints()


def write_kinds(task_kinds: Sequence[TaskKind], object_kinds: Sequence[ObjectKind]) -> Fields:
    """The two fields of what tells kinds; none when there are none, as nearly always."""
    if not (task_kinds or object_kinds):
        return {}
    return {
        "objectKinds": [write_object_kind(kind) for kind in object_kinds],
        "taskKinds": [write_task_kind(kind) for kind in task_kinds],
    }


def read_kinds(fields: Fields) -> tuple[list[TaskKind], list[ObjectKind]]:
    return (
        [read_task_kind(place, row) for place, row in enumerate(fields["taskKinds"])],
        [read_object_kind(place, row) for place, row in enumerate(fields["objectKinds"])],
    )


def write_task_kind(kind: TaskKind) -> Fields:
    wishes = kind.constraints or _NO_CONSTRAINTS
    return {
        "id": kind.id,
        "taskType": kind.task_type,
        "name": kind.name,
        "resources": write_amounts(kind.resources.items()),
        "inputLabels": kind.input_labels,
        "outputs": kind.outputs,
        "user": kind.user,
        "durationHint": kind.duration_hint,
        "pin": wishes.pin,
        "spread": wishes.spread,
        "apart": wishes.apart,
        "tries": kind.attempts.tries,
        "crashTries": kind.attempts.crash_tries,
        "backoff": kind.attempts.backoff,
        "timeout": kind.attempts.timeout,
        "finalTimeout": kind.attempts.final_timeout,
        "memoryTries": kind.attempts.memory_tries,
        "retryOn": kind.attempts.retry_on,
        "retryCodes": kind.attempts.retry_codes,
        "depth": kind.depth,
        "root": kind.root,
        "priority": kind.priority,
        "cache": kind.cache,
        "idempotent": kind.idempotent,
        "environment": kind.environment,
        "near": [{"places": near.places, "size": near.size} for near in kind.near],
    }


def read_task_kind(place: int, fields: Fields) -> TaskKind:
    """ValueError, in one line, when this is none."""
    pin, spread, apart = tuple(fields["pin"]), fields["spread"], fields["apart"]
    try:
        kind = TaskKind(
            fields["id"],
            fields["taskType"],
            fields["name"],
            _read_resources(fields["resources"]),
            tuple(fields["inputLabels"]),
            tuple(fields["outputs"]),
            fields["user"],
            fields["durationHint"],
            Constraints(pin, spread, apart) if pin or spread or apart else None,
            Attempts(
                fields["tries"],
                fields["crashTries"],
                fields["backoff"],
                fields["timeout"],
                fields["retryOn"],
                tuple(fields["retryCodes"]),
                fields["finalTimeout"],
                fields["memoryTries"],
            ),
            fields["priority"],
            fields["depth"],
            fields["root"],
            fields["cache"],
            fields["idempotent"],
            fields["environment"],
            tuple(Near(tuple(row["places"]), row["size"]) for row in fields["near"]),
        )
        _check_task_numbers(kind)
    except ValueError as error:
        raise ValueError(f"task kind {place}: {error}") from None
    return kind


def write_object_kind(kind: ObjectKind) -> Fields:
    return {
        "id": kind.id,
        "label": kind.label,
        "contentType": kind.content_type,
        "dataType": _DATA_TYPE.write(kind.data_type),
        "user": kind.user,
        "sizeHint": kind.size_hint,
    }


def read_object_kind(place: int, fields: Fields) -> ObjectKind:
    """ValueError, in one line, when this is none."""
    kind = ObjectKind(
        fields["id"],
        fields["label"],
        fields["contentType"],
        _DATA_TYPE.read(fields["dataType"]),
        fields["user"],
        fields["sizeHint"],
    )
    try:
        _check_object_numbers(kind)
    except ValueError as error:
        raise ValueError(f"object kind {place}: {error}") from None
    return kind


def check_sendable(task_kinds: Iterable[TaskKind], object_kinds: Iterable[ObjectKind]) -> None:
    """Refuses what no peer would read, before anything of it is sent."""
    for task_kind in task_kinds:
        try:
            _check_task_texts(task_kind)
            _check_task_numbers(task_kind)
        except UnicodeEncodeError:
            raise  # the sender knows which text that is
        except ValueError as error:
            raise RefusedError(f"{task_kind!r:.100} cannot be sent: {error}") from error
    for object_kind in object_kinds:
        try:
            _check_object_texts(object_kind)
            _check_object_numbers(object_kind)
        except UnicodeEncodeError:
            raise
        except ValueError as error:
            raise RefusedError(f"{object_kind!r:.100} cannot be sent: {error}") from error


def weight(kind: TaskKind | ObjectKind) -> int:
    """About as many bytes as the kind takes in a message."""
    if isinstance(kind, ObjectKind):
        return _OBJECT_WEIGHT + sum(map(len, (kind.label, kind.content_type, kind.user)))
    wishes = kind.constraints or _NO_CONSTRAINTS
    lists = (kind.input_labels, wishes.pin, *(near.places for near in kind.near))
    return (
        _TASK_WEIGHT
        + _WORD * len(kind.outputs)
        + sum(_TEXT_WEIGHT + len(text) for texts in lists for text in texts)
        + len(kind.attempts.retry_on)
        + _WORD * len(kind.attempts.retry_codes)
        + sum(map(len, (kind.task_type, kind.name, kind.user, wishes.spread, wishes.apart)))
        + len(kind.cache)
        + len(kind.environment)
        + _NEAR_WEIGHT * len(kind.near)
    )


_OBJECT_WEIGHT, _TASK_WEIGHT, _TEXT_WEIGHT, _NEAR_WEIGHT, _WORD = 80, 176, 16, 24, 8


def _check_task_numbers(kind: TaskKind) -> None:
    _check_number("id", kind.id)
    _check_number("tries", kind.attempts.tries, _MOST_TRIES)
    _check_number("crash tries", kind.attempts.crash_tries, _MOST_TRIES)
    _check_number("memory tries", kind.attempts.memory_tries, _MOST_TRIES)
    _check_seconds("duration hint", kind.duration_hint)
    _check_seconds("backoff", kind.attempts.backoff)
    _check_seconds("timeout", kind.attempts.timeout)
    _check_number("priority", kind.priority, MOST_PRIORITY, -MOST_PRIORITY)
    for output in kind.outputs:
        _check_number("outputs", output)
    for near in kind.near:
        _check_number("near", near.size)
    if kind.environment:
        read_environment(kind.environment)


def _check_object_numbers(kind: ObjectKind) -> None:
    _check_number("id", kind.id)
    _check_number("size hint", kind.size_hint)


def _check_task_texts(kind: TaskKind) -> None:
    wishes = kind.constraints or _NO_CONSTRAINTS
    _check_texts("task type", kind.task_type)
    _check_texts("name", kind.name)
    _check_texts("resources", *(name for name, _ in kind.resources.items()))
    _check_texts("input labels", *kind.input_labels)
    _check_texts("user", kind.user)
    _check_texts("cache", kind.cache)
    _check_texts("environment", kind.environment)
    _check_texts("constraints", *wishes.pin, wishes.spread, wishes.apart)
    _check_texts("near", *(place for near in kind.near for place in near.places))
    for amount in kind.resources.as_dict().values():
        _check_number("resources", amount)


def _check_object_texts(kind: ObjectKind) -> None:
    _check_texts("label", kind.label)
    _check_texts("content type", kind.content_type)
    _check_texts("user", kind.user)


def _check_texts(name: str, *texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"its {name}: {type(text).__name__} instead of str")
        if not text.isascii():
            text.encode()


def _check_number(name: str, number: object, largest: int = LARGEST, least: int = 0) -> None:
    if not isinstance(number, int) or not least <= number <= largest:
        raise ValueError(f"its {name}: {number} is not from {least} to {largest}")


def _check_seconds(name: str, seconds: object) -> None:
    if not isinstance(seconds, int | float) or not 0 <= seconds < inf:
        raise ValueError(f"its {name}: {seconds} is no number of seconds")


def _read_resources(rows: list[Fields]) -> Resources:
    amounts = read_amounts(rows)
    for _, amount in amounts:
        _check_number("resources", amount)
    named = dict(amounts)
    if len(named) != len(amounts):
        raise ValueError("its resources: one is named twice")
    return Resources.of(named)
