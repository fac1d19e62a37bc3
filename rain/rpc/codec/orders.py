"""What the server tells a governor, as a message."""

from rain.base.wire import AssignedTasks, Orders, PlacedObjects
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import (
    entries,
    fields,
    read_counts,
    read_numbers,
    write_counts,
    write_numbers,
)
from rain.rpc.codec.kinds import (
    read_object_kinds,
    read_task_kinds,
    write_object_kinds,
    write_task_kinds,
)
from rain.rpc.codec.plain import packed, unpacked

(
    _FORGET_SESSIONS,
    _STOP_IDS,
    _STOP_ATTEMPTS,
    _DROPS,
    _TASK_KINDS,
    _OBJECT_KINDS,
    _OBJECTS,
    _TASKS,
) = fields(
    schema.common.Orders,
    "forgetSessions",
    "stopIds",
    "stopAttempts",
    "drops",
    "taskKinds",
    "objectKinds",
    "objects",
    "tasks",
)
_OBJECT_NUMBERS, _CONTENT_TYPES, _SOURCES, _DATA = fields(
    schema.common.PlacedObjects, "numbers", "contentTypes", "sources", "data"
)
_TASK_NUMBERS, _COUNTS, _CONFIGS = fields(
    schema.common.AssignedTasks, "numbers", "counts", "configs"
)


def encode_orders(orders: Orders) -> bytes:
    objects, tasks = orders.objects, orders.tasks
    rows = len(objects.ids) + len(tasks.ids)
    return packed(schema.common.Orders, _write_orders, orders, rows, objects.data, tasks.configs)


def decode_orders(content: bytes) -> Orders:
    return unpacked("orders", schema.common.Orders, content, _read_orders)


def _write_orders(builder: Builder, orders: Orders) -> None:
    """Only columns that hold something are written: most orders are small."""
    if orders.forget_sessions:
        builder.forgetSessions = write_numbers(orders.forget_sessions)
    if orders.stop_ids:
        builder.stopIds = write_numbers(orders.stop_ids)
        builder.stopAttempts = write_counts(orders.stop_attempts)
    if orders.drops:
        builder.drops = write_numbers(orders.drops)
    if orders.task_kinds:
        write_task_kinds(builder, "taskKinds", orders.task_kinds)
    if orders.object_kinds:
        write_object_kinds(builder, "objectKinds", orders.object_kinds)
    if orders.objects.ids:
        _write_objects(builder._init_by_field(_OBJECTS), orders.objects)
    if orders.tasks.ids:
        _write_tasks(builder._init_by_field(_TASKS), orders.tasks)


def _read_orders(reader: Reader) -> Orders:
    get, has = reader._get_by_field, reader._has_by_field
    orders = Orders(
        read_numbers(get(_FORGET_SESSIONS)) if has(_FORGET_SESSIONS) else [],
        read_numbers(get(_STOP_IDS)) if has(_STOP_IDS) else [],
        read_counts(get(_STOP_ATTEMPTS)) if has(_STOP_ATTEMPTS) else [],
        read_numbers(get(_DROPS)) if has(_DROPS) else [],
        read_task_kinds(get(_TASK_KINDS)) if has(_TASK_KINDS) else [],
        read_object_kinds(get(_OBJECT_KINDS)) if has(_OBJECT_KINDS) else [],
        _read_objects(get(_OBJECTS)) if has(_OBJECTS) else PlacedObjects([], [], [], [], [], []),
        _read_tasks(get(_TASKS)) if has(_TASKS) else AssignedTasks(),
    )
    orders.check()
    return orders


def _write_objects(builder: Builder, objects: PlacedObjects) -> None:
    objects.check()
    builder.numbers = write_numbers([*objects.ids, *objects.kinds, *objects.sizes])
    if any(objects.content_types):
        builder.contentTypes = objects.content_types
    if any(objects.sources):
        builder.sources = objects.sources
    builder.data = objects.data


def _read_objects(reader: Reader) -> PlacedObjects:
    get, has = reader._get_by_field, reader._has_by_field
    data = entries(get(_DATA))
    numbers = read_numbers(get(_OBJECT_NUMBERS))
    rows = len(data)
    ids, kinds, sizes = numbers[:rows], numbers[rows : 2 * rows], numbers[2 * rows :]
    content_types = entries(get(_CONTENT_TYPES)) if has(_CONTENT_TYPES) else [""] * rows
    sources = entries(get(_SOURCES)) if has(_SOURCES) else [""] * rows
    return PlacedObjects(ids, kinds, content_types, sizes, sources, data)


def _write_tasks(builder: Builder, tasks: AssignedTasks) -> None:
    tasks.check()
    builder.numbers = write_numbers(
        [*tasks.ids, *tasks.kinds, *tasks.priorities, *tasks.inputs, *tasks.outputs]
    )
    builder.counts = write_counts([*tasks.attempts, *tasks.input_counts])
    builder.configs = tasks.configs


def _read_tasks(reader: Reader) -> AssignedTasks:
    get = reader._get_by_field
    configs = entries(get(_CONFIGS))
    numbers = read_numbers(get(_TASK_NUMBERS))
    counts = read_counts(get(_COUNTS))
    rows = len(configs)
    ids, kinds, priorities = numbers[:rows], numbers[rows : 2 * rows], numbers[2 * rows : 3 * rows]
    attempts, input_counts = counts[:rows], counts[rows:]
    end = 3 * rows + sum(input_counts)
    inputs, outputs = numbers[3 * rows : end], numbers[end:]
    return AssignedTasks(ids, attempts, kinds, priorities, configs, input_counts, inputs, outputs)
