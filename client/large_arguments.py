"""Arguments of calls that are large when they are pickled.

Each is uploaded as an object of its own, once for equal ones, and becomes an input of its task.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from rain.client.arguments import LARGEST_PICKLE
from rain.client.data import DataObject
from rain.client.handles import constant_object
from rain.client.shapes import ObjectShape
from rain.client.warn import warn_user
from rain.common.content_type import encode_value
from rain.common.references import Reference, finding_references

if TYPE_CHECKING:
    from rain.client.session import Session

REPEATED_AT_MOST = 100_000_000
"""Bytes that calls may bring again before their client hints at an upload."""


def is_surely_large(value: Any) -> bool:
    """Whether a value says that it is large, as arrays and tables do: it need not be pickled first.

    Its size may be no number at all, as that of a Dask array.
    """
    size = getattr(value, "nbytes", 0)
    return isinstance(size, int) and size > LARGEST_PICKLE


class LargeArguments:
    """Those of the calls of one session."""

    def __init__(self, session: Session, advice: str) -> None:
        self._session = session
        self._advice = advice  # what to write instead of giving a value again and again
        self._sent: WeakValueDictionary[bytes, DataObject] = WeakValueDictionary()
        self._repeated = 0  # bytes that were pickled for arguments that were there

    def uploaded(self, value: Any, label: str) -> DataObject:
        """The object of a value, with the futures that are inside of it."""
        with finding_references() as found:
            data = encode_value(value, "pickle")
        return self.sent(data, label, found)

    def sent(
        self, data: bytes, label: str, found: Mapping[int, Reference] | None = None
    ) -> DataObject:
        """The object of a pickle; equal ones have the same."""
        digest = blake2b(data, digest_size=16).digest()
        digest += self._session.refusals.to_bytes(8)  # what was refused is uploaded again
        known = self._sent.get(digest)
        if known is not None:
            self._hint(label, len(data))
        else:
            shape = ObjectShape(label, "pickle")
            known = self._sent[digest] = constant_object(self._session, shape, data, found)
        return known

    def _hint(self, label: str, size: int) -> None:
        """Once: to pickle it again, only to find that it is there, takes longer and longer."""
        before, self._repeated = self._repeated, self._repeated + size
        if before <= REPEATED_AT_MOST < self._repeated:
            warn_user(
                f"argument {label} of {size / 1e6:.0f} MB was given before, and is pickled for each"
                f" call; write value = {self._advice} once, and give that to the calls"
            )
