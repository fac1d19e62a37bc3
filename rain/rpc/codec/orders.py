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
    get, has = reader._get, reader._has  # by attributes it would take twice as long
    orders = Orders()
    if has("forgetSessions"):
        orders.forget_sessions = list(get("forgetSessions"))
    if has("stopIds") or has("stopAttempts"):
        orders.stop_ids = list(get("stopIds"))
        orders.stop_attempts = list(get("stopAttempts"))
    if has("drops"):
        orders.drops = list(get("drops"))
    if has("taskKinds"):
        orders.task_kinds = read_task_kinds(get("taskKinds"))
    if has("objectKinds"):
        orders.object_kinds = read_object_kinds(get("objectKinds"))
    if has("objects"):
        orders.objects = _read_objects(get("objects"))
    if has("tasks"):
        orders.tasks = _read_tasks(get("tasks"))
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
    get = reader._get
    return PlacedObjects(
        ids=list(get("ids")),
        kinds=list(get("kinds")),
        content_types=list(get("contentTypes")),
        sizes=list(get("sizes")),
        sources=list(get("sources")),
        data=list(get("data")),
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
    get = reader._get
    return AssignedTasks(
        ids=list(get("ids")),
        attempts=list(get("attempts")),
        kinds=list(get("kinds")),
        priorities=list(get("priorities")),
        configs=list(get("configs")),
        input_counts=list(get("inputCounts")),
        inputs=list(get("inputs")),
        outputs=list(get("outputs")),
    )
