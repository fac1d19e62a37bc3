"""The codec of `Orders`: what a governor has to run, stop, fetch and drop."""

from rain.base.wire.grace import check_grace
from rain.base.wire.orders import (
    AskedRuns,
    AssignedTasks,
    CancelledRuns,
    LentObjects,
    Orders,
    PlacedObjects,
)
from rain.rpc.codec.border import check_ours
from rain.rpc.codec.kinds import read_kinds, write_kinds
from rain.rpc.codec.record import columns
from rain.rpc.interface import Fields

_PLACED = columns(PlacedObjects, {"content_types": "", "sources": "", "data": b""})
_LENT = columns(LentObjects, {"content_types": "", "data": b""})
_ASSIGNED = columns(AssignedTasks, {"priorities": 0, "configs": b"", "needs": None})


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
        fields["placed"] = _PLACED.write(orders.objects)
    if orders.lent.ids:
        fields["lent"] = _LENT.write(orders.lent)
    if orders.tasks.ids:
        fields["tasks"] = _ASSIGNED.write(orders.tasks)
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
        orders.objects = _PLACED.read(placed)
    if lent is not None:
        orders.lent = _LENT.read(lent)
    if tasks is not None:
        orders.tasks = _ASSIGNED.read(tasks)
    orders.check()
    return orders


def _write_cancelled(cancelled: CancelledRuns) -> Fields:
    return {"tasks": cancelled.ids, "runs": cancelled.runs, "graces": cancelled.graces}


def _read_cancelled(fields: Fields) -> CancelledRuns:
    graces: list[float] = fields["graces"]
    for grace in graces:
        check_grace(grace)
    return CancelledRuns(fields["tasks"], fields["runs"], graces)
