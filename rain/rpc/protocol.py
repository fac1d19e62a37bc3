"""The messages of Cap'n Proto's RPC, as the schema in pycapnp's wheel describes them."""

from __future__ import annotations

from typing import Any

from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.reading import AnyPointer
from rain.rpc.interface import Fields

MESSAGE = Layout.of(schema.rpc.Message)

REASON_LIMIT = 8 * 1024
"""Characters of a reason; the rest is left out."""


def shortened(reason: str) -> str:
    """A reason as it may travel."""
    text = reason if len(reason) <= REASON_LIMIT else reason[:REASON_LIMIT] + " [...]"
    return text.encode("utf-8", "replace").decode()


def echo(value: Any) -> Any:
    """What was not understood, without what may be anything."""
    if isinstance(value, dict):
        fields: Fields = value
        return {name: echo(field) for name, field in fields.items()}
    return None if isinstance(value, AnyPointer) else value
