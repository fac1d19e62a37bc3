"""Values for clusters with several servers: one of them leads, the others stand by
(docs/guide/standby.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.address import spell_address, split_address
from rain.base.errors import StartError

SHORT_TRY = 3.0
"""Seconds after which another address is tried, if there are several."""


class Servers:
    """Where the server of a cluster may be, and which one was found last. Any thread may ask."""

    def __init__(self, addresses: Sequence[tuple[str, int]]) -> None:
        self.addresses = tuple(dict.fromkeys(addresses))
        self.generation = 0  # the highest that any of them has said to have
        self._place = 0

    @staticmethod
    def of(text: str) -> Servers:
        """Those of "host:port,host:port"."""
        return Servers([split_address(part.strip()) for part in text.split(",")])

    @property
    def current(self) -> tuple[str, int]:
        """The host and port of the one that was found last, or is to be tried next."""
        return self.addresses[self._place]

    @property
    def where(self) -> str:
        """The same as text."""
        return spell_address(*self.current)

    @property
    def all(self) -> str:
        """All addresses as text, as `of` reads them."""
        return ",".join(spell_address(*address) for address in self.addresses)

    @property
    def others(self) -> tuple[tuple[str, int], ...]:
        """All but the current one."""
        return tuple(address for address in self.addresses if address != self.current)

    @property
    def has_several(self) -> bool:
        return len(self.addresses) > 1

    def includes(self, where: str) -> bool:
        """Whether this is the address of one of them."""
        return any(where == spell_address(*address) for address in self.addresses)

    def try_next(self) -> None:
        """The current one does not lead, or cannot be reached."""
        self._place = (self._place + 1) % len(self.addresses)

    def limit(self, timeout: float) -> float:
        """How long one of them may take to answer."""
        return min(timeout, SHORT_TRY) if self.has_several else timeout

    def accept(self, generation: int) -> None:
        """One of them says that it leads; `StartError` if it was replaced by another one.

        A replaced server may have been suspended, and not know it yet.
        """
        if generation < self.generation:
            raise StartError(
                f"the server at {self.where} has been replaced: it has the generation"
                f" {generation}, and another one has {self.generation}"
            )
        self.generation = generation
