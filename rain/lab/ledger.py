"""The ledger of a run: moved and stored bytes, placements of tasks, and a digest of all events."""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct

from attrs import define, field

from rain.lab.machine import Governor
from rain.lab.outcome import Outcome, Placement

_ENTRY = Struct("<dqqq")

ORDERED, STARTED, ENDED, PULLED, ARRIVED = range(5)
"""The kinds of entries in the digest."""


@define(eq=False)
class Ledger:
    """Counts during a run."""

    begin: float = 0.0  # when the first submit arrived
    moved: int = 0
    transfers: int = 0
    peak: int = 0
    peak_governor: int = 0
    placements: list[Placement] = field(factory=list)
    _stored: int = 0
    _counted: dict[int, int] = field(factory=dict)  # bytes by governor that are included in the sum
    _digest: blake2b = field(factory=lambda: blake2b(digest_size=16))

    def note(self, now: float, what: int, where: int, which: int) -> None:
        """Adds one event to the digest."""
        self._digest.update(_ENTRY.pack(now, what, where, which))

    def count_stored(self, governor: Governor) -> None:
        """The store of a governor has changed."""
        counted, stored = self._counted.get(governor.number, 0), governor.stored
        self._counted[governor.number] = stored
        self._stored += stored - counted
        self.peak = max(self.peak, self._stored)
        self.peak_governor = max(self.peak_governor, stored)

    def arrived(self, size: int) -> None:
        """A transfer is complete."""
        self.moved += size
        self.transfers += 1

    def ran(self, task: int, governor: int, start: float, end: float) -> None:
        """A task has ended."""
        self.placements.append(Placement(task, governor, start - self.begin, end - self.begin))

    def outcome(self, now: float) -> Outcome:
        """Returns the outcome at the end."""
        return Outcome(
            makespan=now - self.begin,
            moved=self.moved,
            transfers=self.transfers,
            peak_stored=self.peak,
            peak_governor=self.peak_governor,
            digest=self._digest.hexdigest(),
            placements=self.placements,
        )
