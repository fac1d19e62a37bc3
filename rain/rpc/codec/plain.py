"""Plain messages: what is said for every task, as messages of Cap'n Proto without a call around.

Orders and updates are the structures themselves. What clients ask, and what they are answered, has
the number of the request with it.
"""

from collections.abc import Callable
from typing import TypeVar

from rain.base.errors import ProtocolError
from rain.rpc.codec.border import (
    MESSAGE_LIMIT,
    NESTING_LIMIT,
    TRAVERSAL_LIMIT,
    Builder,
    Interface,
    Reader,
    reading,
)

T = TypeVar("T")


def packed(builder: Builder) -> bytes:
    """The bytes of a message."""
    content: bytes = builder.to_bytes()
    return content


def unpacked(what: str, structure: Interface, content: bytes, read: Callable[[Reader], T]) -> T:
    """What `read` finds in a message that somebody sent; it does nothing else than read."""
    if len(content) > MESSAGE_LIMIT:
        raise ProtocolError(
            f"{what}: {len(content)} bytes in one message; the limit is {MESSAGE_LIMIT}"
        )
    with (
        reading(what),
        structure.from_bytes(content, TRAVERSAL_LIMIT, NESTING_LIMIT) as reader,
    ):
        return read(reader)
