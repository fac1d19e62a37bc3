"""Reads the interfaces of the schemas: their methods, by name and number, with parameters and
results.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from attrs import frozen

from rain.rpc.capnproto.layout import Layout

Fields: TypeAlias = dict[str, Any]
"""The fields of a struct by their names in the schema."""


@frozen(eq=False)
class Method:
    """One method of an interface."""

    name: str
    interface: int
    number: int
    params: Layout
    results: Layout
    takes: tuple[str, ...]  # the parameters that are capabilities
    gives: Mapping[str, int]  # the results that are capabilities, and their pointers' places


@frozen(eq=False)
class Interface:
    """An interface of a schema."""

    id: int
    name: str
    methods: Mapping[str, Method]

    @staticmethod
    @cache
    def of(module: Any) -> Interface:
        """The interface that pycapnp has loaded."""
        schema = module.schema
        identifier: int = schema.node.id
        methods: dict[str, Method] = {}
        for number, described in enumerate(schema.node.interface.methods):
            name = str(described.name)
            method = schema.methods[name]
            methods[name] = Method(
                name,
                identifier,
                number,
                Layout.of(method.param_type),
                Layout.of(method.result_type),
                tuple(_capabilities(method.param_type)),
                _capabilities(method.result_type),
            )
        return Interface(identifier, str(schema.node.displayName), methods)


def _capabilities(struct: Any) -> dict[str, int]:
    """The fields of a struct that are capabilities, and the places of their pointers."""
    return {
        name: field.proto.slot.offset
        for name, field in struct.fields.items()
        if field.proto.which() == "slot" and field.proto.slot.type.which() == "interface"
    }
