"""Plain messages: what is said for every task, as messages of Cap'n Proto without a call around.

Orders and updates are the structures themselves. What clients ask, and what they are answered, has
the number of the request with it.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from rain.base.errors import ProtocolError
from rain.rpc.codec.border import (
    MESSAGE_LIMIT,
    NESTING_LIMIT,
    TRAVERSAL_LIMIT,
    UNREADABLE,
    Builder,
    Interface,
    Reader,
    fault_of_sender,
)

T = TypeVar("T")

_WORD = 8


ROW_WORDS = 12
"""Room for one row of any of our tables, with what names it and without its data."""

_USUAL_ROOM = 1024
"""Words that Cap'n Proto takes for a message of which nobody says how long it will be."""


def blank(structure: Interface, rows: int, *data: Sequence[bytes]) -> Builder:
    """A new message with room for so many rows and these data.

    What has no room gets a segment of its own. There each entry of a list takes one more word, and
    longer to read.
    """
    if rows * ROW_WORDS <= _USUAL_ROOM:
        return structure.new_message()
    length = sum(sum(map(len, column)) for column in data)
    return structure.new_message(rows * ROW_WORDS + length // _WORD)


def packed(builder: Builder) -> bytes:
    """The bytes of a message."""
    content: bytes = builder.to_bytes()
    return content


def check_size(what: str, content: bytes) -> bytes:
    """Refuses a message that is longer than one may be."""
    if len(content) > MESSAGE_LIMIT:
        raise ProtocolError(
            f"{what}: {len(content)} bytes in one message; the limit is {MESSAGE_LIMIT}"
        )
    return content


def unpacked(what: str, structure: Interface, content: bytes, read: Callable[[Reader], T]) -> T:
    """What `read` finds in a message that somebody sent; it does nothing else than read."""
    if len(check_size(what, content)) % _WORD:
        raise ProtocolError(f"{what}: {len(content)} bytes are no whole words")
    try:
        # `from_bytes` would do, but it is a generator in a context manager: four times as slow.
        messages = structure.read_multiple_bytes(content, TRAVERSAL_LIMIT, NESTING_LIMIT)
        reader = next(messages, None)
        if reader is not None:
            return read(reader)
    except UNREADABLE as error:
        raise fault_of_sender(what, error) from error
    raise ProtocolError(f"{what}: the message ends too early")
