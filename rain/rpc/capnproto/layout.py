"""Messages whose root is one struct of a schema: written from a dict of fields, and read as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from rain.rpc.capnproto import reading, writing
from rain.rpc.capnproto.reading import AnyPointer
from rain.rpc.capnproto.shape import Shape
from rain.rpc.capnproto.values import Content


@frozen
class Layout:
    """What `write` makes of the fields of a struct `read` gives back, and so does pycapnp."""

    shape: Shape

    @staticmethod
    def of(described: Any) -> Layout:
        """The layout of a struct that pycapnp has loaded, or of its schema."""
        return Layout(Shape.of(described))

    def write(self, values: Mapping[str, Any]) -> bytes:
        """A whole message of one segment, with its table of segments."""
        return writing.write(self.shape, values)

    def read(self, message: bytes) -> dict[str, Any]:
        """Every field of a whole message; `UnreadableError` when it is none."""
        return reading.read(self.shape, message)

    def within(self, values: Mapping[str, Any]) -> Content:
        """The struct as the value of a field that may be anything."""
        return Content(self.shape, values)

    def read_within(self, anything: AnyPointer | None) -> dict[str, Any]:
        """The struct that such a field holds; its defaults if there is none."""
        return reading.defaults(self.shape) if anything is None else anything.struct(self.shape)
