"""Plain messages: what is said for every task, as messages of Cap'n Proto without a call around.

Orders and updates are the structures themselves. What clients ask, and what they are answered, has
the number of the request with it.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from rain.base.errors import InvariantError, ProtocolError
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
V = TypeVar("V")

_WORD = 8

_ROW_WORDS = 12
"""Room for one row of any of our tables, without its data."""

_USUAL_ROOM = 1024
"""Words that Cap'n Proto takes for a message of which nobody says how long it will be."""


def packed(
    structure: Interface,
    write: Callable[[Builder, V], object],
    value: V,
    rows: int = 0,
    *data: Sequence[bytes],
) -> bytes:
    """The bytes of a message that `write` fills, of so many rows with these data.

    A long one gets room for all of it at once: what has none gets a segment of its own, and there
    each entry of a list takes one more word, and longer to read.
    """
    if rows * _ROW_WORDS > _USUAL_ROOM:
        length = sum(sum(map(len, column)) for column in data)
        builder = structure.new_message(rows * _ROW_WORDS + length // _WORD)
    else:
        builder = structure.new_message()
    try:
        write(builder, value)
    except ProtocolError as error:
        raise InvariantError(f"a message of our own is wrong: {error}") from None
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
