"""The interface of a shared store for a lease."""

from __future__ import annotations

from typing import Protocol

from rain.base.errors import RainError
from rain.server.lease.rules import Record


class LeaseStoreError(RainError):
    """The store cannot be reached, or has refused a request; it may work later."""


class LeaseStore(Protocol):
    """One record. Its methods may block, and are called in threads, one at a time."""

    @property
    def where(self) -> str:
        """The place, for people."""
        ...

    def read(self) -> Record:
        """The record as it is now; `NOBODY` if the lease was never taken."""
        ...

    def put(self, before: Record, after: Record) -> bool:
        """Replaces the record if it is still the one before; whether it was.

        A record of the same generation is only ever replaced by its holder. Whether another one
        of this generation was there need not be noticed, but that of a later one.
        """
        ...

    def has_ended(self, record: Record) -> bool:
        """Whether it is certain that the process of this holder has ended. False if it is not."""
        ...

    def close(self) -> None: ...
