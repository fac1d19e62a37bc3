"""What stands in the fields of a message, where Python has no value for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rain.base.errors import ProtocolError
from rain.rpc.capnproto.shape import Shape


class UnreadableError(ProtocolError):
    """A message is not what its schema says."""


class Capability(NamedTuple):
    """An object, as its place in the table beside the message."""

    place: int


class Content(NamedTuple):
    """A struct in a field that may be anything."""

    shape: Shape
    values: Mapping[str, Any]
