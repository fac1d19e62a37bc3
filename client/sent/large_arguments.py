"""Uploads arguments of calls that are large when they are pickled.

Each is uploaded as an object of its own, once for equal ones, and becomes an input of its task.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from rain.client.data import DataObject
from rain.client.explaining.warn import warn_user
from rain.client.handles import constant_object
from rain.client.sent.arguments import LARGEST_PICKLE
from rain.client.shapes import ObjectShape
from rain.client.staging import is_same, staged
from rain.common.content_type import encode_parts
from rain.common.pickles import Part
from rain.common.references import Reference, finding_references
from rain.stream.staged import Staged

if TYPE_CHECKING:
    from rain.client.session import Session

REPEATED_AT_MOST = 100_000_000
"""Bytes that calls may send again before the client suggests `client.put`."""


MOST_COMPARED = 32
"""With as many of the latest values in files a new one is compared, byte by byte. That reads it at
the speed of memory, where a digest takes ten times as long."""


def is_surely_large(value: Any) -> bool:
    """Whether a value is a large numpy array. Then it need not be pickled first to know its size.

    Other values are not asked for `nbytes`: they may be lazy, or fail.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray):
        return False
    size: int = value.nbytes
    return size > LARGEST_PICKLE


class LargeArguments:
    """Those of the calls of one session."""

    def __init__(self, session: Session, advice: str) -> None:
        self._session = session
        self._advice = advice  # what to write instead of giving a value again and again
        self._sent: WeakValueDictionary[bytes, DataObject] = WeakValueDictionary()
        self._files: WeakKeyDictionary[DataObject, tuple[int, Staged]] = WeakKeyDictionary()
        self._repeated = 0  # bytes that were pickled for arguments that were there

    def uploaded(self, value: Any, label: str) -> DataObject:
        """The object of a value, with the futures that are inside of it."""
        with finding_references() as found:
            parts = encode_parts(value, "pickle")
        return self.sent(parts, label, found)

    def sent(
        self, parts: Sequence[Part], label: str, found: Mapping[int, Reference] | None = None
    ) -> DataObject:
        """The object of a pickle; equal ones have the same."""
        refusals = self._session.refusals  # what was refused is uploaded again
        for known, (then, file) in list(self._files.items()):
            if then == refusals and is_same(parts, file):
                self._hint(label, len(file))
                return known
        data = staged(self._session, parts)
        if isinstance(data, bytes):
            return self._sent_from_memory(data, label, found)
        made = constant_object(self._session, ObjectShape(label, "pickle"), data, found)
        if len(self._files) >= MOST_COMPARED:
            self._files.pop(next(iter(self._files)), None)
        self._files[made] = refusals, data
        return made

    def _sent_from_memory(
        self, data: bytes, label: str, found: Mapping[int, Reference] | None
    ) -> DataObject:
        digest = blake2b(data, digest_size=16).digest()
        digest += self._session.refusals.to_bytes(8)
        known = self._sent.get(digest)
        if known is not None:
            self._hint(label, len(data))
        else:
            shape = ObjectShape(label, "pickle")
            known = self._sent[digest] = constant_object(self._session, shape, data, found)
        return known

    def _hint(self, label: str, size: int) -> None:
        """Warns once: pickling the value again for each call, only to find that it was uploaded
        already, takes time.
        """
        before, self._repeated = self._repeated, self._repeated + size
        if before <= REPEATED_AT_MOST < self._repeated:
            warn_user(
                f"argument {label} of {size / 1e6:.0f} MB was given before, and is pickled for each"
                f" call; write value = {self._advice} once, and give that to the calls"
            )
