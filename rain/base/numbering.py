"""Numbered messages: after a broken connection they may come twice, but none may be missing."""

from __future__ import annotations

from rain.base.errors import ProtocolError


def is_new(number: int, last: int, what: str) -> bool:
    """Whether a message is new, given the number of the last applied one.

    Messages without a number (0) are never repeated, so they are always new.
    """
    if number > last + 1:
        raise ProtocolError(f"{what} {number} has come after {what} {last}")
    return not number or number > last
