"""Digests of bytes and of texts. Pure."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

DIGEST_SIZE = 20


def digest_of(*parts: bytes) -> str:
    """The digest of bytes, which are not told apart."""
    summed = new_sum()
    for part in parts:
        summed.update(part)
    found: str = summed.hexdigest()
    return found


def digest_of_texts(*texts: str) -> str:
    """The digest of texts, which are told apart."""
    return digest_of(*(f"{len(text)}:{text}".encode(errors="surrogatepass") for text in texts))


def new_sum() -> Any:
    """A hash object."""
    return blake2b(digest_size=DIGEST_SIZE)
