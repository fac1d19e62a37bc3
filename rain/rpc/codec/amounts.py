"""The codec of resources: how much of each a task needs or a governor has."""

from collections.abc import Iterable

from rain.base.resources import Resources, checked_amount
from rain.rpc.interface import Fields

MOST_RESOURCES = 1000
"""Rows without content take no room in a message, so it may say that there are millions."""


def write_amounts(amounts: Iterable[tuple[str, int]]) -> list[Fields]:
    return [{"name": name, "amount": amount} for name, amount in amounts]


def read_amounts(rows: list[Fields]) -> tuple[tuple[str, int], ...]:
    if len(rows) > MOST_RESOURCES:
        raise ValueError(f"{len(rows)} resources; there may be {MOST_RESOURCES}")
    return tuple((row["name"], row["amount"]) for row in rows)


def read_resources(rows: list[Fields]) -> Resources:
    """The resources that a governor offers; a one-line ValueError if they are impossible."""
    amounts = read_amounts(rows)
    named = {name: checked_amount(name, amount) for name, amount in amounts}
    if len(named) != len(amounts):
        raise ValueError("a resource is named twice")
    return Resources.of(named)
