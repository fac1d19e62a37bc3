"""Helpers of all codecs: who is at fault for wrong fields, limits and cleaning of texts.

The codec turns values (`rain.base.wire`) into the fields of a message and back.
`rain.rpc.capnproto` turns the fields into bytes. A function `write_...` makes fields from a value
of ours, and `read_...` makes a value from the fields that a peer has sent. Received fields have the
types of the schema, but nothing else about them is certain. Wrong ones raise `ProtocolError`, or
`ValueError`, which `fault_of_sender` turns into `ProtocolError`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.interface import Fields

TEXT_LIMIT = 64 * 1024
"""Characters of one text for people, such as a traceback."""

LOGS_LIMIT = 256 * 1024
"""And of what a task has printed."""


def fault_of_sender(what: str, error: ValueError) -> ProtocolError:
    """The mistake in a message that a peer has sent."""
    return ProtocolError(f"{what}: {error}")


class Checked(Protocol):
    """A value that can tell whether its columns fit together."""

    def check(self) -> None: ...


def check_ours(value: Checked) -> None:
    """Columns that do not fit are never sent: the other side would close the connection."""
    try:
        value.check()
    except ProtocolError as error:
        raise InvariantError(f"a message of our own is wrong: {error}") from error


def with_columns(fields: Fields, **columns: Sequence[Any]) -> Fields:
    """Adds columns that may be empty, but for those where every row has the default."""
    for name, column in columns.items():
        if any(column):
            fields[name] = column
    return fields


def filled(column: list[Any], rows: int, default: object) -> list[Any]:
    """A column that may be empty, where each row then has the default."""
    return column or [default] * rows


def clean(text: str) -> str:
    """Text in a form that UTF-8 can hold.

    Tracebacks and output of programs can hold halves of surrogate pairs, for instance from file
    names that are not UTF-8; they become question marks instead of a second failure.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def shown(text: str, limit: int = TEXT_LIMIT) -> str:
    """Text for people: clean, and without its middle if it is long."""
    if len(text) > limit:
        half = limit // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
    return clean(text)
