"""Plain messages: what is said for every task, as messages of Cap'n Proto without a call around.

Each has numbers and data (`rain.rpc.codec.columns`), and fields for what is rarely said. Without
these it is written and read by hand (`rain.rpc.codec.words`), which is nearly always.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.codec.border import (
    MESSAGE_LIMIT,
    NESTING_LIMIT,
    UNREADABLE,
    Builder,
    Interface,
    Reader,
    fault_of_sender,
)
from rain.rpc.codec.columns import Numbers, fields, read_numbers
from rain.rpc.codec.words import read_words

T = TypeVar("T")

_WORD = 8
_TWICE, _SOME = 2, 64  # how often a message is read, and what a short one may need


class Checked(Protocol):
    """A value that can tell whether its columns fit together."""

    def check(self) -> None: ...


def wrong_of_ours(value: Checked) -> InvariantError:
    """Columns that do not fit are never sent: they would be read as something else."""
    reason = "its columns have other lengths than it says"
    try:
        value.check()
    except ProtocolError as error:
        reason = str(error)
    return InvariantError(f"a message of our own is wrong: {reason}")


def check_ours(value: Checked) -> None:
    """Before columns are cut: what one of them has too much would be lost, and nobody see it."""
    try:
        value.check()
    except ProtocolError as error:
        raise wrong_of_ours(value) from error


def packed(
    structure: Interface,
    numbers: bytes,
    data: Sequence[bytes],
    write: Callable[[Builder], object],
) -> bytes:
    """The bytes of a message in which `write` says what is rarely said."""
    builder = structure.new_message()
    builder.numbers = numbers
    builder.data = b"".join(data)
    write(builder)
    content: bytes = builder.to_bytes()
    return content


def check_size(what: str, content: bytes) -> bytes:
    """Refuses a message that is longer than one may be."""
    if len(content) > MESSAGE_LIMIT:
        raise ProtocolError(
            f"{what}: {len(content)} bytes in one message; the limit is {MESSAGE_LIMIT}"
        )
    return content


def opened(
    what: str, structure: Interface, content: bytes, read: Callable[[Reader], T]
) -> tuple[Numbers, bytes, int, int, T | None]:
    """A message of somebody else: its numbers, where in which bytes its data lies, and the rest.

    The rest is what `read` finds of what is rarely said; it does nothing else than read.
    """
    check_size(what, content)
    found = read_words(content)
    if found is not None:
        start, middle, end = found
        return read_numbers(content[start:middle]), content, middle, end, None
    read_all = partial(_read_all, structure, read)
    numbers, data, rest = unpacked(what, structure, content, read_all)
    return numbers, data, 0, len(data), rest


def _read_all(
    structure: Interface, read: Callable[[Reader], T], reader: Reader
) -> tuple[Numbers, bytes, T]:
    numbers, data = (reader._get_by_field(field) for field in fields(structure, "numbers", "data"))
    return read_numbers(numbers), data, read(reader)


def unpacked(what: str, structure: Interface, content: bytes, read: Callable[[Reader], T]) -> T:
    """What `read` finds in a message that somebody sent; it does nothing else than read."""
    if len(check_size(what, content)) % _WORD:
        raise ProtocolError(f"{what}: {len(content)} bytes are no whole words")
    try:
        # `from_bytes` would do, but it is a generator in a context manager: four times as slow.
        # Rows without content take no room: a message may say that it has millions of them.
        limit = _TWICE * len(content) // _WORD + _SOME
        messages = structure.read_multiple_bytes(content, limit, NESTING_LIMIT)
        reader = next(messages, None)
        if reader is not None:
            return read(reader)
    except UNREADABLE as error:
        raise fault_of_sender(what, error) from error
    raise ProtocolError(f"{what}: the message ends too early")
