"""What all of the codec shares: whose fault an unreadable message is, and how long one may be.

A message that somebody else sent is read inside of `reading`: whatever Cap'n Proto, or the values
themselves, find wrong with it becomes a `ProtocolError` of that peer. A message is read once and
copied into base types before its handler returns, because a reader borrows the message's memory.
"""

import struct
from types import TracebackType
from typing import Any, TypeAlias

import capnp

from rain.base.errors import ProtocolError

# pycapnp makes these while the program runs: of their fields the checkers cannot know anything.
Builder: TypeAlias = Any
Reader: TypeAlias = Any
Capability: TypeAlias = Any
Interface: TypeAlias = Any
OfferedServer: TypeAlias = Any
CallContext: TypeAlias = Any

MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes of one message. Senders split what is longer; receivers refuse it by name."""

TRAVERSAL_LIMIT = 4 * MESSAGE_LIMIT // 8
"""Words that one message lets be read, set on every connection.

It is for what a server answers, too, which may be longer than what a peer may say to it. That is
judged by what the stream says of its length (`rain.rpc.interleaved`): to ask pycapnp for the length
of a message would end the program when one of its pointers is wrong.
"""

TEXT_LIMIT = 64 * 1024

LOGS_LIMIT = 256 * 1024
"""Characters of one text for people, such as a traceback."""

NESTING_LIMIT = 16
"""How deep pointers nest in one message; ours need five."""


UNREADABLE = (
    *(capnp.KjException, struct.error),
    *(ValueError, TypeError, ArithmeticError, LookupError, AttributeError),
)
"""What Cap'n Proto, or the values themselves, raise about a message that is wrong."""


def fault_of_sender(what: str, error: BaseException) -> ProtocolError:
    """Says what is wrong with a message, in one line."""
    if isinstance(error, capnp.KjException):
        reason = error.description or "unreadable"
        return ProtocolError(f"{what}: {reason.splitlines()[0]}")
    return ProtocolError(f"{what}: {error}")


class reading:  # noqa: N801 # it reads as what happens inside
    """Turns what is wrong with a message into the fault of its sender.

    A class, because every message passes here, and a generator costs three times as much.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, UNREADABLE):
            raise fault_of_sender(self._what, error) from error


def clean(text: str) -> str | bytes:
    """Text in a form that UTF-8 can hold.

    Tracebacks and output of programs can hold halves of surrogate pairs, for instance from file
    names that are not UTF-8; they become question marks instead of a second failure.
    """
    return text if text.isascii() else text.encode("utf-8", "replace")


def shown(text: str, limit: int = TEXT_LIMIT) -> str | bytes:
    """Text for people: clean, and without its middle if nobody would read that much."""
    if len(text) > limit:
        half = limit // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
    return clean(text)
