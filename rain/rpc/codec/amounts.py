"""Amounts of resources, as lists of a message."""

from collections.abc import Sequence

from rain.base.resources import Resources, checked_amount
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import entries, fields

_NAME, _AMOUNT = fields(schema.common.Resource, "name", "amount")


def write_amounts(builder: Builder, field: str, amounts: Sequence[tuple[str, int]]) -> None:
    """Names and amounts into a list of resources."""
    rows = builder.init(field, len(amounts))
    for row, (name, amount) in zip(rows, amounts, strict=True):
        row.name = name
        row.amount = amount


MOST_RESOURCES = 1000
"""Rows without content take no room in a message, so it may say that there are millions."""


def read_amounts(rows: Reader) -> tuple[tuple[str, int], ...]:
    if len(rows) > MOST_RESOURCES:
        raise ValueError(f"{len(rows)} resources; there may be {MOST_RESOURCES}")
    return tuple((row._get_by_field(_NAME), row._get_by_field(_AMOUNT)) for row in entries(rows))


def read_resources(rows: Reader) -> Resources:
    """What a governor offers; ValueError, in one line, when it cannot be that."""
    amounts = read_amounts(rows)
    named = {name: checked_amount(name, amount) for name, amount in amounts}
    if len(named) != len(amounts):
        raise ValueError("a resource is named twice")
    return Resources.of(named)
