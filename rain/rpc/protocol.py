"""The messages of Cap'n Proto's RPC (from the schema in pycapnp's wheel), and the outlet that sends
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.reading import AnyPointer
from rain.rpc.interface import Fields

MESSAGE = Layout.of(schema.rpc.Message)

REASON_LIMIT = 8 * 1024
"""Characters of a reason; the rest is left out."""


def nothing() -> None:
    """There is nothing to flush where each message is sent at once."""


def _unheard(_: bytes) -> None:
    """The connection has ended."""


class Outlet:
    """Takes the messages of one side of a connection, and passes them to the driver. Any thread may
    use it.
    """

    def __init__(
        self, hand: Callable[[bytes], object], flush: Callable[[], object] = nothing
    ) -> None:
        self.hand = hand
        """Hands bytes over to what sends them when it is flushed."""
        self.flush = flush
        self.is_closed = False  # the connection has ended, and nothing more is said

    def say(self, message: Fields) -> None:
        if not self.is_closed:
            self.hand(MESSAGE.write(message))
            self.flush()

    def say_later(self, message: Fields) -> None:
        """Hands a message over without a flush: it may wait for the next one."""
        if not self.is_closed:
            self.hand(MESSAGE.write(message))

    def take_apart(self) -> None:
        """Called after the end: drops the reference to the driver."""
        self.hand, self.flush = _unheard, nothing


def shortened(reason: str) -> str:
    """A reason as it may travel."""
    text = reason if len(reason) <= REASON_LIMIT else reason[:REASON_LIMIT] + " [...]"
    return text.encode("utf-8", "replace").decode()


def echo(value: Any) -> Any:
    """The header of a message that was not understood, to send it back without its content."""
    if isinstance(value, dict):
        fields: Fields = value
        return {name: echo(field) for name, field in fields.items()}
    return None if isinstance(value, AnyPointer) else value
