"""What the server tells a governor, as a message."""

from rain.base.wire import AssignedTasks, Orders, PlacedObjects
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.kinds import (
    read_object_kinds,
    read_task_kinds,
    write_object_kinds,
    write_task_kinds,
)


def write_orders(builder: Builder, orders: Orders) -> None:
    """Only columns that hold something are written: most orders are small."""
    if orders.forget_sessions:
        builder.forgetSessions = orders.forget_sessions
    if orders.stop_ids:
        builder.stopIds = orders.stop_ids
        builder.stopAttempts = orders.stop_attempts
    if orders.drops:
        builder.drops = orders.drops
    if orders.task_kinds:
        write_task_kinds(builder, "taskKinds", orders.task_kinds)
    if orders.object_kinds:
        write_object_kinds(builder, "objectKinds", orders.object_kinds)
    if orders.objects.ids:
        _write_objects(builder.init("objects"), orders.objects)
    if orders.tasks.ids:
        _write_tasks(builder.init("tasks"), orders.tasks)


def read_orders(reader: Reader) -> Orders:
    orders = Orders()
    if reader._has("forgetSessions"):
        orders.forget_sessions = list(reader.forgetSessions)
    if reader._has("stopIds") or reader._has("stopAttempts"):
        orders.stop_ids = list(reader.stopIds)
        orders.stop_attempts = list(reader.stopAttempts)
    if reader._has("drops"):
        orders.drops = list(reader.drops)
    if reader._has("taskKinds"):
        orders.task_kinds = read_task_kinds(reader.taskKinds)
    if reader._has("objectKinds"):
        orders.object_kinds = read_object_kinds(reader.objectKinds)
    if reader._has("objects"):
        orders.objects = _read_objects(reader.objects)
    if reader._has("tasks"):
        orders.tasks = _read_tasks(reader.tasks)
    orders.check()
    return orders


def _write_objects(builder: Builder, objects: PlacedObjects) -> None:
    builder.ids = objects.ids
    builder.kinds = objects.kinds
    builder.contentTypes = objects.content_types
    builder.sizes = objects.sizes
    builder.sources = objects.sources
    builder.data = objects.data


def _read_objects(reader: Reader) -> PlacedObjects:
    return PlacedObjects(
        ids=list(reader.ids),
        kinds=list(reader.kinds),
        content_types=list(reader.contentTypes),
        sizes=list(reader.sizes),
        sources=list(reader.sources),
        data=list(reader.data),
    )


def _write_tasks(builder: Builder, tasks: AssignedTasks) -> None:
    builder.ids = tasks.ids
    builder.attempts = tasks.attempts
    builder.kinds = tasks.kinds
    builder.priorities = tasks.priorities
    builder.configs = tasks.configs
    builder.inputCounts = tasks.input_counts
    builder.inputs = tasks.inputs
    builder.outputs = tasks.outputs


def _read_tasks(reader: Reader) -> AssignedTasks:
    return AssignedTasks(
        ids=list(reader.ids),
        attempts=list(reader.attempts),
        kinds=list(reader.kinds),
        priorities=list(reader.priorities),
        configs=list(reader.configs),
        input_counts=list(reader.inputCounts),
        inputs=list(reader.inputs),
        outputs=list(reader.outputs),
    )
