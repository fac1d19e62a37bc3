"""The functions that a soak calls, apart, since its peers should not need to import Rain."""

from __future__ import annotations

import hashlib
import time


def step(value: int, number: int) -> int:
    """One link of a chain: an answer that depends on all links before."""
    time.sleep((value ^ number) % 50 / 1000)
    return (value * 31 + number) % 1_000_003


def pattern(number: int, size: int) -> bytes:
    """Bytes that follow from a number alone."""
    block = hashlib.sha256(str(number).encode()).digest()
    return (block * (size // len(block) + 1))[:size]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def joined(*parts: bytes) -> bytes:
    return b"".join(parts)


def total(*values: int) -> int:
    """A sum that takes some milliseconds."""
    time.sleep(sum(values) % 10 / 1000)
    return sum(values)
