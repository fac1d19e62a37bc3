"""Counts how much was sent between machines, and the time that compression has taken."""

from __future__ import annotations

from attrs import frozen


@frozen
class Transfers:
    """What was sent to other machines in bodies that may be compressed."""

    data: int = 0  # bytes of data objects
    packed: int = 0  # those of them that were compressed
    on_links: int = 0  # bytes for all of that on the links
    packing: int = 0  # microseconds of processors for compressing

    def plus(self, more: Transfers) -> Transfers:
        return Transfers(
            self.data + more.data,
            self.packed + more.packed,
            self.on_links + more.on_links,
            self.packing + more.packing,
        )

    def since(self, before: Transfers) -> Transfers:
        """What was sent after that."""
        return Transfers(
            self.data - before.data,
            self.packed - before.packed,
            self.on_links - before.on_links,
            self.packing - before.packing,
        )
