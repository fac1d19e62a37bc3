"""Amounts of resources, as lists of a message."""

from collections.abc import Sequence

from rain.base.resources import Resources
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


def read_amounts(rows: Reader) -> tuple[tuple[str, int], ...]:
    return tuple((row._get_by_field(_NAME), row._get_by_field(_AMOUNT)) for row in entries(rows))


def read_resources(rows: Reader) -> Resources:
    return Resources.of(dict(read_amounts(rows)))
