"""What the server tells a governor."""

from rain.base.wire.grace import check_grace
from rain.base.wire.orders import (
    AskedRuns,
    AssignedTasks,
    CancelledRuns,
    LentObjects,
    Orders,
    PlacedObjects,
)
from rain.rpc.codec.border import Fields, check_ours, filled, with_columns
from rain.rpc.codec.kinds import read_kinds, write_kinds


def write_orders(orders: Orders, *, more: bool = False) -> Fields:
    """One message of those that one turn's orders became; `more` of them may follow."""
    check_ours(orders)
    fields = write_kinds(orders.task_kinds, orders.object_kinds)
    if orders.forget_sessions:
        fields["forgetSessions"] = orders.forget_sessions
    if orders.stop_ids:
        fields["stopTasks"] = orders.stop_ids
        fields["stopRuns"] = orders.stop_runs
    if orders.cancelled.ids:
        fields["cancelled"] = _write_cancelled(orders.cancelled)
    if orders.asked.ids:
        fields["asked"] = {"tasks": orders.asked.ids, "runs": orders.asked.runs}
    if orders.drops:
        fields["drops"] = orders.drops
    if orders.objects.ids:
        fields["placed"] = _write_placed(orders.objects)
    if orders.lent.ids:
        fields["lent"] = _write_lent(orders.lent)
    if orders.tasks.ids:
        fields["tasks"] = _write_assigned(orders.tasks)
    if orders.number:
        fields["number"] = orders.number
    if more:
        fields["more"] = True
    return fields


def read_orders(fields: Fields) -> Orders:
    task_kinds, object_kinds = read_kinds(fields)
    orders = Orders(
        fields["forgetSessions"],
        fields["stopTasks"],
        fields["stopRuns"],
        drops=fields["drops"],
        task_kinds=task_kinds,
        object_kinds=object_kinds,
        number=fields["number"],
    )
    names = "cancelled", "asked", "placed", "lent", "tasks"
    cancelled, asked, placed, lent, tasks = map(fields.get, names)
    if cancelled is not None:
        orders.cancelled = _read_cancelled(cancelled)
    if asked is not None:
        orders.asked = AskedRuns(asked["tasks"], asked["runs"])
    if placed is not None:
        orders.objects = _read_placed(placed)
    if lent is not None:
        orders.lent = _read_lent(lent)
    if tasks is not None:
        orders.tasks = _read_assigned(tasks)
    orders.check()
    return orders


def _write_cancelled(cancelled: CancelledRuns) -> Fields:
    return {"tasks": cancelled.ids, "runs": cancelled.runs, "graces": cancelled.graces}


def _read_cancelled(fields: Fields) -> CancelledRuns:
    graces: list[float] = fields["graces"]
    for grace in graces:
        check_grace(grace)
    return CancelledRuns(fields["tasks"], fields["runs"], graces)


def _write_placed(objects: PlacedObjects) -> Fields:
    return with_columns(
        {"ids": objects.ids, "kinds": objects.kinds, "sizes": objects.sizes},
        contentTypes=objects.content_types,
        sources=objects.sources,
        data=objects.data,
    )


def _read_placed(fields: Fields) -> PlacedObjects:
    rows = len(fields["ids"])
    return PlacedObjects(
        fields["ids"],
        fields["kinds"],
        filled(fields["contentTypes"], rows, ""),
        fields["sizes"],
        filled(fields["sources"], rows, ""),
        filled(fields["data"], rows, b""),
    )


def _write_lent(objects: LentObjects) -> Fields:
    return with_columns(
        {"ids": objects.ids, "kinds": objects.kinds},
        contentTypes=objects.content_types,
        data=objects.data,
    )


def _read_lent(fields: Fields) -> LentObjects:
    rows = len(fields["ids"])
    return LentObjects(
        fields["ids"],
        fields["kinds"],
        filled(fields["contentTypes"], rows, ""),
        filled(fields["data"], rows, b""),
    )


def _write_assigned(tasks: AssignedTasks) -> Fields:
    return with_columns(
        {
            "ids": tasks.ids,
            "runs": tasks.runs,
            "kinds": tasks.kinds,
            "inputCounts": tasks.input_counts,
            "inputs": tasks.inputs,
            "outputs": tasks.outputs,
        },
        priorities=tasks.priorities,
        configs=tasks.configs,
        needs=tasks.needs,
    )


def _read_assigned(fields: Fields) -> AssignedTasks:
    rows = len(fields["ids"])
    return AssignedTasks(
        fields["ids"],
        fields["runs"],
        fields["kinds"],
        filled(fields["priorities"], rows, 0),
        filled(fields["configs"], rows, b""),
        fields["inputCounts"],
        fields["inputs"],
        fields["outputs"],
        fields["needs"],
    )
