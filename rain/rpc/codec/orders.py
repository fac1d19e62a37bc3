"""What the server tells a governor, as a message."""

from functools import partial
from typing import Any

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
from rain.rpc.codec.kinds import read_kinds, write_kinds
from rain.rpc.codec.plain import opened, packed, wrong_of_ours
from rain.rpc.codec.words import write_words

(_TEXTS,) = fields(schema.common.Orders, "texts")
_HEADS = 7
_PLACED_HEADS = 4
_LENT_HEADS = 4


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
    left: list[int] = []
    if orders.task_kinds or orders.object_kinds:
        about_kinds, kinds = write_kinds(orders.task_kinds, orders.object_kinds)
        left = [len(about_kinds), *about_kinds, *lent]
        data = [*data, *kinds]
    elif lent:
        left = [0, *lent]
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
    numbers += left
    content = write_numbers(numbers)
    if texts:
        return packed(schema.common.Orders, content, data, partial(_write_texts, texts))
    return write_words(content, data)


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
    raw, data, start, end, told = opened("orders", schema.common.Orders, content, _read_texts)
    numbers = raw.tolist()
    if len(numbers) < _HEADS:
        raise no_lengths("orders")
    texts = told or []
    forgotten, stopped, dropped, assigned, inputs, outputs, placed = numbers[:_HEADS]
    lengths = (
        *(forgotten, stopped, stopped, dropped),
        *(assigned, assigned, assigned, assigned, assigned, assigned),
        *(inputs, outputs, placed),
    )
    left = len(numbers) - _HEADS - sum(lengths)  # about kinds and lent objects
    columns = cut_columns("orders", numbers, _HEADS, (*lengths, left))
    data_lengths = columns[8]  # of the configs
    objects, lent_objects = PlacedObjects(), LentObjects()
    if placed:
        objects, lengths_of_placed = _read_placed(columns[12], texts)
        data_lengths += lengths_of_placed
    about_kinds: list[int] = []
    if left:
        about_kinds, about_lent = _part(columns[13])
        if about_lent:
            lent_objects, lengths_of_lent = _read_lent(about_lent, texts)
            data_lengths += lengths_of_lent
        data_lengths += about_kinds[1:]
    pieces = cut_bytes("orders", data, start, end, data_lengths)
    task_kinds: list[TaskKind] = []
    object_kinds: list[ObjectKind] = []
    if placed or left:
        lent_from = assigned + len(objects.ids)
        kinds_from = lent_from + len(lent_objects.ids)
        objects.data, lent_objects.data = pieces[assigned:lent_from], pieces[lent_from:kinds_from]
        if about_kinds:
            task_kinds, object_kinds = read_kinds("orders", about_kinds, pieces[kinds_from:])
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


def _part(numbers: list[Any]) -> tuple[list[Any], list[Any]]:
    """The numbers about kinds and those about lent objects."""
    about_kinds = numbers[0]
    if not 0 <= about_kinds < len(numbers):
        raise no_lengths("orders: the kinds")
    return numbers[1 : 1 + about_kinds], numbers[1 + about_kinds :]


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


def _write_texts(texts: list[str], builder: Builder) -> None:
    builder.texts = texts


def _read_texts(reader: Reader) -> list[str]:
    return entries(reader._get_by_field(_TEXTS)) if reader._has_by_field(_TEXTS) else []
