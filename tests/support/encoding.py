"""Every message that a test sees sent is encoded, and decoded again."""

from __future__ import annotations

from typing import TypeVar

from rain.rpc.codec import through_the_wire

A = TypeVar("A")


def encoded(value: A) -> A:
    """The value as it arrives at the other end."""
    arrived = through_the_wire(value)
    assert arrived == value
    return arrived
