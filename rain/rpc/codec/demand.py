"""What those are told who start governors, and what they promise."""

from __future__ import annotations

from rain.base.governors import GovernorRow
from rain.base.ids import GovernorId
from rain.base.wire.demand import Demand, Load, Need
from rain.base.wire.requests import Promise
from rain.rpc.codec.amounts import read_resources, write_amounts
from rain.rpc.codec.border import Fields, clean

MOST_PROMISED = 1000
"""Rows without content take no room in a message, so it may say that there are millions."""


def write_demand(told: Demand) -> Fields:
    return {
        "needs": [
            {
                "resources": write_amounts(need.resources.items()),
                "waiting": need.waiting,
                "seconds": need.seconds,
                "unknown": need.unknown,
                "running": need.running,
                "occupied": need.occupied,
                "shortest": need.shortest,
            }
            for need in told.needs
        ],
        "loads": [
            {
                "governor": load.governor,
                "resources": write_amounts(load.resources.items()),
                "tasks": load.tasks,
                "row": load.row.value,
                "hasSoleCopies": load.has_sole_copies,
            }
            for load in told.loads
        ],
    }


def read_demand(fields: Fields) -> Demand:
    return Demand(
        tuple(
            Need(
                read_resources(row["resources"]),
                row["waiting"],
                row["seconds"],
                row["unknown"],
                row["running"],
                row["occupied"],
                row["shortest"],
            )
            for row in fields["needs"]
        ),
        tuple(
            Load(
                GovernorId(row["governor"]),
                read_resources(row["resources"]),
                row["tasks"],
                GovernorRow(row["row"]),
                row["hasSoleCopies"],
            )
            for row in fields["loads"]
        ),
    )


def write_promise(promise: Promise) -> Fields:
    rows = [{"resources": write_amounts(one.items())} for one in promise.governors]
    return {"governors": rows, "says": clean(promise.says)}


def read_promise(fields: Fields) -> Promise:
    rows = fields["governors"]
    if len(rows) > MOST_PROMISED:
        raise ValueError(f"{len(rows)} governors; there may be {MOST_PROMISED}")
    return Promise(tuple(read_resources(row["resources"]) for row in rows), fields["says"])
