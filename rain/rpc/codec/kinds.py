"""Kinds as strings of bytes, each of which is an array of msgpack with its fields in their order.

    of tasks    id, task type, name, resources, labels of inputs, kinds of outputs, notes of the
                user, duration hint, pin, spread, apart, tries
    of objects  id, label, content type, data type, notes of the user, size hint

Resources are an array, too: the name of each, and how much of it. A kind has these bytes beside it
(`rain.base.kinds`): who passes it on to a hundred governors writes nothing. What a peer has sent is
read as if it were meant to do harm.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Any, Final, TypeAlias, TypeVar

import msgpack

from rain.base.constraints import Constraints
from rain.base.errors import ProtocolError, RefusedError
from rain.base.kinds import DataType, ObjectKind, TaskKind, keep_packed
from rain.base.resources import CPUS, LARGEST, ONE_CPU, Resources
from rain.rpc.codec.columns import no_lengths

Kind: TypeAlias = TaskKind | ObjectKind
K = TypeVar("K", TaskKind, ObjectKind)

MOST_ENTRIES = 1 << 20
"""So many labels or outputs of one kind, at most.

An array takes its memory when it says how long it is, and others may begin inside of it. So none
may claim more entries than this, nor than there are bytes.
"""

_MOST_TRIES = 2**32 - 1

_TASK_FIELDS: Final = {
    "id": int,
    "task type": str,
    "name": str,
    "resources": list,
    "input labels": list,
    "outputs": list,
    "user": str,
    "duration hint": float,
    "pin": list,
    "spread": str,
    "apart": str,
    "tries": int,
}
_OBJECT_FIELDS: Final = {
    "id": int,
    "label": str,
    "content type": str,
    "data type": str,
    "user": str,
    "size hint": int,
}
_TASK_TYPES: Final = [*_TASK_FIELDS.values()]
_OBJECT_TYPES: Final = [*_OBJECT_FIELDS.values()]
_DATA_TYPES: Final = {data_type.value: data_type for data_type in DataType}
_ONE_CPU: Final = [CPUS, 1]
_NO_CONSTRAINTS: Final = Constraints()

_pack: Callable[[object], bytes] = msgpack.packb  # one packer for all would serve one thread
# Without a limit of ours, an array has no more entries than there are bytes.
_unpack: Callable[..., object] = partial(
    msgpack.unpackb, max_map_len=0, max_bin_len=0, max_ext_len=0
)
_unpack_long: Callable[..., object] = partial(
    msgpack.unpackb, max_array_len=MOST_ENTRIES, max_map_len=0, max_bin_len=0, max_ext_len=0
)


def packed_kinds(kinds: Iterable[Kind]) -> list[bytes]:
    """The bytes of these kinds. One that was made here is packed when they are asked for first."""
    return [kind.packed or _pack_and_keep(kind) for kind in kinds]


def _pack_and_keep(kind: Kind) -> bytes:
    """What no peer would read is refused here, before anything is sent."""
    try:
        if isinstance(kind, TaskKind):
            packed = _pack(_task_row(kind))
            read_task_kind(packed)
        else:
            packed = _pack(_object_row(kind))
            read_object_kind(packed)
    except UnicodeEncodeError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise RefusedError(f"{kind!r:.100} cannot be sent: {error}") from error
    keep_packed(kind, packed)
    return packed


def _task_row(kind: TaskKind) -> list[Any]:
    wishes = kind.constraints or _NO_CONSTRAINTS
    return [
        kind.id,
        kind.task_type,
        kind.name,
        [entry for pair in kind.resources.items() for entry in pair],
        kind.input_labels,
        kind.outputs,
        kind.user,
        float(kind.duration_hint),
        wishes.pin,
        wishes.spread,
        wishes.apart,
        kind.tries,
    ]


def _object_row(kind: ObjectKind) -> list[Any]:
    return [
        kind.id,
        kind.label,
        kind.content_type,
        kind.data_type.value,
        kind.user,
        kind.size_hint,
    ]


def write_kinds(
    task_kinds: Sequence[TaskKind], object_kinds: Sequence[ObjectKind]
) -> tuple[list[int], list[bytes]]:
    """The numbers about kinds, and the kinds: how many are of tasks, and how long each one is."""
    pieces = packed_kinds(task_kinds) + packed_kinds(object_kinds)
    return [len(task_kinds), *map(len, pieces)], pieces


def read_kinds(
    what: str, numbers: list[int], pieces: list[bytes]
) -> tuple[list[TaskKind], list[ObjectKind]]:
    """The kinds with these numbers, whose lengths were made use of already."""
    of_tasks = numbers[0]
    if not 0 <= of_tasks <= len(pieces):
        raise no_lengths(f"{what}: the kinds")
    return (
        _read_all(f"{what}: task kind", read_task_kind, pieces[:of_tasks]),
        _read_all(f"{what}: object kind", read_object_kind, pieces[of_tasks:]),
    )


def _read_all(what: str, read: Callable[[bytes], K], pieces: list[bytes]) -> list[K]:
    kinds: list[K] = []
    for piece in pieces:
        try:
            kinds.append(read(piece))
        except ValueError as error:
            raise ProtocolError(f"{what} {len(kinds)}: {error}") from error
    return kinds


def read_task_kind(content: bytes) -> TaskKind:
    """ValueError, in one line, when this is none."""
    row = _row(content, _TASK_FIELDS, _TASK_TYPES)
    kind_id, task_type, name, resources, labels, outputs = row[:6]
    user, hint, pin, spread, apart, tries = row[6:]
    _check_number("id", kind_id)
    _check_number("tries", tries, _MOST_TRIES)
    if not 0 <= hint < inf:
        raise ValueError(f"its duration hint: {hint} is no number of seconds")
    if labels:
        _check_entries("input labels", labels, str)
    if outputs:
        _check_entries("outputs", outputs, int)
        _check_number("outputs", min(outputs))
        _check_number("outputs", max(outputs))
    if pin:
        _check_entries("pin", pin, str)
    kind = TaskKind(
        kind_id,
        task_type,
        name,
        _read_resources(resources),
        tuple(labels),
        tuple(outputs),
        user,
        hint,
        Constraints(tuple(pin), spread, apart) if pin or spread or apart else None,
        tries,
    )
    keep_packed(kind, content)
    return kind


def read_object_kind(content: bytes) -> ObjectKind:
    """ValueError, in one line, when this is none."""
    row = _row(content, _OBJECT_FIELDS, _OBJECT_TYPES)
    kind_id, label, content_type, data_type, user, size_hint = row
    _check_number("id", kind_id)
    _check_number("size hint", size_hint)
    known = _DATA_TYPES.get(data_type)
    if known is None:
        raise ValueError(f"its data type: {data_type!r:.100} is none")
    kind = ObjectKind(kind_id, label, content_type, known, user, size_hint)
    keep_packed(kind, content)
    return kind


def _row(content: bytes, names: dict[str, type], types: list[type]) -> list[Any]:
    """The fields of a kind, each of its very type: True is no number here."""
    try:
        unpack = _unpack if len(content) < MOST_ENTRIES else _unpack_long
        unpacked = unpack(content, list_hook=_Arrays(1 + len(types)))
    except msgpack.UnpackException as error:  # which says nothing but its type
        raise ValueError(f"it is no msgpack: {type(error).__name__}") from error
    if not isinstance(unpacked, list):
        raise ValueError(f"{type(unpacked).__name__} instead of an array of fields")
    row: list[Any] = unpacked
    found: list[type] = [*map(type, row)]
    if found == types:
        return row
    if len(found) != len(types):
        raise ValueError(f"it has {len(found)} fields instead of {len(types)}")
    raise next(
        _wrong_type(name, one, expected)
        for (name, expected), one in zip(names.items(), found, strict=True)
        if one is not expected
    )


class _Arrays:
    """Counts arrays while they are read: very many small ones would take gigabytes until then."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, array: list[Any]) -> list[Any]:
        if not self._left:
            raise ValueError("it has more arrays than fields")
        self._left -= 1
        return array


def _wrong_type(name: str, found: type, expected: type) -> ValueError:
    return ValueError(f"its {name}: {found.__name__} instead of {expected.__name__}")


def _check_number(name: str, number: int, largest: int = LARGEST) -> None:
    if not 0 <= number <= largest:
        raise ValueError(f"its {name}: {number} is not from 0 to {largest}")


def _check_entries(name: str, entries: list[Any], expected: type) -> None:
    others = set(map(type, entries)) - {expected}
    if others:
        raise _wrong_type(name, others.pop(), expected)


def _read_resources(entries: list[Any]) -> Resources:
    names, amounts = entries[::2], entries[1::2]
    if len(names) != len(amounts):
        raise ValueError("its resources: the last one has no amount")
    if names:
        _check_entries("resources", names, str)
        _check_entries("resources", amounts, int)
    if entries == _ONE_CPU:
        return ONE_CPU
    for amount in amounts:
        _check_number("resources", amount)
    amounts_of = dict(zip(names, amounts, strict=True))
    if len(amounts_of) != len(names):
        raise ValueError("its resources: one is named twice")
    return Resources.of(amounts_of)
