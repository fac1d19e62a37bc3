"""Receives a large object: if one sender fails, another one continues from there.

The stamp of the file says whether the other sender has the same bytes. An object that was computed
again may have different bytes, and is then received from its beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rain.stream.sockets import Incoming, receive_file
from rain.stream.stamps import Stamp

if TYPE_CHECKING:
    from rain.governor.core.results import Stored
    from rain.governor.storage.store import Store


class Arriving:
    """One file of the store that has no owner yet. Used by one thread."""

    def __init__(self, store: Store, length: int, stamp: Stamp | None) -> None:
        """OSError if there is no room for all of it."""
        self.stamp = stamp
        self.length = length
        self.received = 0
        self._store = store
        self._number, self._file = store.new_file(length)

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def take_rest(self, connected: Incoming) -> None:
        """Receives what is still missing. If it fails, the number of received bytes is known."""
        receive_file(connected, self.descriptor, self.length, self.received, self._note)

    def complete(self) -> Stored:
        """All of it is here: others may go on from this file, too."""
        if self.stamp is not None:
            self.stamp.mark(self.descriptor)
        self._file.close()
        return self._store.settle(self._number)

    def abandon(self) -> None:
        """The object is no longer wanted, or no sender has it."""
        self._file.close()
        self._store.delete([self._number])

    def _note(self, received: int) -> None:
        self.received = received
