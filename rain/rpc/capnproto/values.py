"""What stands in the fields of a message, where Python has no value for it."""

from __future__ import annotations

from typing import NamedTuple

from rain.base.errors import ProtocolError


class UnreadableError(ProtocolError):
    """A message is not what its schema says."""


class Capability(NamedTuple):
    """An object, as its place in the table beside the message."""

    place: int
