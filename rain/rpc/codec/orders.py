"""What the server tells a governor, as a message."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

from rain.base.errors import ProtocolError
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire import (
    AssignedTasks,
    LentObjects,
    Orders,
    PlacedObjects,
    check_counts,
    outputs_of_nobody,
)
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import (
    cut_bytes,
    cut_columns,
    entries,
    fields,
    lengthened,
    look_up,
    no_lengths,
    number_texts,
    short,
    write_numbers,
)
from rain.rpc.codec.kinds import (
    read_object_kinds,
    read_task_kinds,
    write_object_kinds,
    write_task_kinds,
)
from rain.rpc.codec.plain import opened, packed, wrong_of_ours
from rain.rpc.codec.words import Rest, rest_of, write_words, write_words_and

_TASK_KINDS, _OBJECT_KINDS, _TEXTS = fields(
    schema.common.Orders, "taskKinds", "objectKinds", "texts"
)
_HEADS = 7
_PLACED_HEADS = 4
_LENT_HEADS = 4

Rarely: TypeAlias = tuple[list[TaskKind], list[ObjectKind], list[str]]
"""Kinds of tasks and objects, and the texts of columns."""


def encode_orders(orders: Orders) -> bytes:
    forgotten, stopped, dropped = orders.forget_sessions, orders.stop_ids, orders.drops
    tasks, data, objects = orders.tasks, orders.tasks.configs, orders.objects
    other = orders.lent
    assigned, inputs, outputs = len(tasks.ids), len(tasks.inputs), len(tasks.outputs)
    fit = (
        len(stopped) == len(orders.stop_attempts)
        and assigned == len(tasks.attempts) == len(tasks.kinds) == len(tasks.priorities)
        and assigned == len(data) == len(tasks.input_counts)
        and sum(tasks.input_counts) == inputs
        and (assigned or not outputs)
        and len(objects.ids) == len(objects.kinds) == len(objects.content_types)
        and len(objects.ids) == len(objects.sizes) == len(objects.sources) == len(objects.data)
        and len(other.ids) == len(other.kinds) == len(other.content_types) == len(other.data)
    )
    if not fit:
        raise wrong_of_ours(orders)
    placed: list[int] = []
    lent: list[int] = []
    texts: list[str] = []
    if objects.ids or other.ids:
        placed, lent, texts = _number_objects(objects, other)
        for contents in (objects.data, other.data):
            if any(contents):
                data = [*data, *contents]
    numbers = [
        *(len(forgotten), len(stopped), len(dropped)),
        *(assigned, inputs, outputs, len(placed)),
    ]
    numbers += forgotten
    numbers += stopped
    numbers += orders.stop_attempts
    numbers += dropped
    if assigned:
        numbers += tasks.ids
        numbers += tasks.attempts
        numbers += tasks.kinds
        numbers += tasks.priorities
        numbers += map(len, tasks.configs)
        numbers += tasks.input_counts
        numbers += tasks.inputs
        numbers += tasks.outputs
    numbers += placed
    numbers += lent
    content = write_numbers(numbers)
    if orders.task_kinds or orders.object_kinds:
        kinds = _written_kinds(tuple(orders.task_kinds), tuple(orders.object_kinds))
        if kinds is not None and not texts:
            return write_words_and(kinds, content, data)
    elif not texts:
        return write_words(content, data)
    return packed(schema.common.Orders, content, data, partial(_write_rest, orders, texts))


@lru_cache(maxsize=64)
def _written_kinds(
    task_kinds: tuple[TaskKind, ...], object_kinds: tuple[ObjectKind, ...]
) -> Rest | None:
    """Written once for all governors that are told of them."""
    builder = schema.common.Orders.new_message()
    _write_rest(Orders(task_kinds=[*task_kinds], object_kinds=[*object_kinds]), (), builder)
    return rest_of(builder.to_bytes())


def _number_objects(
    placed: PlacedObjects, lent: LentObjects
) -> tuple[list[int], list[int], list[str]]:
    """The numbers of both, and the texts of which some are the numbers."""
    columns, texts = number_texts(placed.content_types, placed.sources, lent.content_types)
    content_types, sources, lent_types = columns
    return (
        _number_placed(placed, content_types, sources) if placed.ids else [],
        _number_lent(lent, lent_types) if lent.ids else [],
        texts,
    )


def _number_placed(
    objects: PlacedObjects, content_types: list[int], sources: list[int]
) -> list[int]:
    rows = len(objects.ids)
    lengths = [*map(len, objects.data)] if any(objects.data) else []
    numbers = [rows, len(content_types), len(sources), len(lengths)]
    numbers += objects.ids
    numbers += objects.kinds
    numbers += objects.sizes
    numbers += content_types
    numbers += sources
    numbers += lengths
    return numbers


def _number_lent(objects: LentObjects, content_types: list[int]) -> list[int]:
    rows = len(objects.ids)
    if not rows == len(objects.kinds) == len(objects.content_types) == len(objects.data):
        raise wrong_of_ours(objects)
    kinds = short(objects.kinds)
    lengths = short([*map(len, objects.data)]) if any(objects.data) else [0]
    numbers = [rows, len(kinds), len(content_types), len(lengths)]
    numbers += objects.ids
    numbers += kinds
    numbers += content_types
    numbers += lengths
    return numbers


def decode_orders(content: bytes) -> Orders:
    numbers, data, start, end, rest = opened("orders", schema.common.Orders, content, _read_rest)
    if len(numbers) < _HEADS:
        raise no_lengths("orders")
    task_kinds, object_kinds, texts = rest or ([], [], [])
    forgotten, stopped, dropped, assigned, inputs, outputs, placed = numbers[:_HEADS]
    lengths = (
        *(forgotten, stopped, stopped, dropped),
        *(assigned, assigned, assigned, assigned, assigned, assigned),
        *(inputs, outputs, placed),
    )
    lent = len(numbers) - _HEADS - sum(lengths)  # all that is left
    columns = cut_columns("orders", numbers, _HEADS, (*lengths, lent))
    data_lengths = columns[8]  # of the configs
    objects, lent_objects = PlacedObjects(), LentObjects()
    if placed:
        objects, lengths_of_placed = _read_placed(columns[12], texts)
        data_lengths += lengths_of_placed
    if lent:
        lent_objects, lengths_of_lent = _read_lent(columns[13], texts)
        data_lengths += lengths_of_lent
    pieces = cut_bytes("orders", data, start, end, data_lengths)
    if placed or lent:
        lent_from = assigned + len(objects.ids)
        objects.data, lent_objects.data = pieces[assigned:lent_from], pieces[lent_from:]
    forget_sessions, stop_ids, stop_attempts, drops = columns[:4]
    return Orders(
        forget_sessions,
        stop_ids,
        stop_attempts,
        drops,
        task_kinds,
        object_kinds,
        objects,
        lent_objects,
        _read_assigned(columns, pieces) if assigned or inputs or outputs else AssignedTasks(),
    )


def _read_placed(numbers: list[Any], texts: list[str]) -> tuple[PlacedObjects, list[int]]:
    """The objects without their data, and how long that of each is."""
    if len(numbers) < _PLACED_HEADS:
        raise no_lengths("placed objects")
    rows, typed, sourced, filled = numbers[:_PLACED_HEADS]
    if filled not in (0, rows):
        raise ProtocolError("placed objects: the lengths of data do not fit to their rows")
    lengths = (rows, rows, rows, typed, sourced, filled)
    columns = cut_columns("placed objects", numbers, _PLACED_HEADS, lengths)
    ids, kinds, sizes, content_types, sources, data_lengths = columns
    objects = PlacedObjects(
        ids,
        kinds,
        look_up("placed objects", content_types, texts, rows),
        sizes,
        look_up("placed objects", sources, texts, rows),
    )
    return objects, data_lengths or [0] * rows


def _read_lent(numbers: list[Any], texts: list[str]) -> tuple[LentObjects, list[int]]:
    """The objects without their data, and how long that of each is."""
    if len(numbers) < _LENT_HEADS:
        raise no_lengths("lent objects")
    rows, of_kinds, typed, filled = numbers[:_LENT_HEADS]
    columns = cut_columns("lent objects", numbers, _LENT_HEADS, (rows, of_kinds, typed, filled))
    ids, kinds, content_types, lengths = columns
    objects = LentObjects(
        ids,
        lengthened("lent objects", kinds, rows),
        look_up("lent objects", content_types, texts, rows),
    )
    return objects, lengthened("lent objects", lengths, rows)


def _read_assigned(columns: list[list[Any]], data: list[bytes]) -> AssignedTasks:
    ids, attempts, kinds, priorities, _, input_counts, inputs, outputs = columns[4:12]
    check_counts("assigned tasks: the input counts", input_counts, inputs)
    if outputs and not ids:
        raise outputs_of_nobody("assigned tasks")
    configs = data[: len(ids)]
    return AssignedTasks(ids, attempts, kinds, priorities, configs, input_counts, inputs, outputs)


def _write_rest(orders: Orders, texts: Sequence[str], builder: Builder) -> None:
    if orders.task_kinds:
        write_task_kinds(builder, "taskKinds", orders.task_kinds)
    if orders.object_kinds:
        write_object_kinds(builder, "objectKinds", orders.object_kinds)
    if texts:
        builder.texts = texts


def _read_rest(reader: Reader) -> Rarely:
    get, has = reader._get_by_field, reader._has_by_field
    return (
        read_task_kinds(get(_TASK_KINDS)) if has(_TASK_KINDS) else [],
        read_object_kinds(get(_OBJECT_KINDS)) if has(_OBJECT_KINDS) else [],
        entries(get(_TEXTS)) if has(_TEXTS) else [],
    )
