"""The rules of leases: how long a server may rely on its lease, and when another one may take it.
No clock, no I/O.

A lease is a record in a shared place. Its holder changes the record again and again: these changes
are heartbeats. Another server reads the record, and takes the lease if it has not changed for the
time that is in the record. The clocks of two machines are never compared. The holder measures from
the time before it began to write. The other server measures from the time after it has read a
change to the time before it read the record unchanged. So the holder stops first, even if its clock
is slower by the `MARGIN`, and whatever delays there are.

Each time that the lease is taken, a number is increased: the generation. A holder that was
suspended after it has checked the clock may still write something. That does no harm, because it is
written with the number of an earlier generation (docs/decisions/recovery.md).
"""

from __future__ import annotations

from attrs import define, evolve, field, frozen

MARGIN = 0.15
"""The part of a lease on which its holder does not count."""

BEATS = 5
"""How often a holder renews the lease within its length."""

UNKNOWN_LENGTH = 5.0
"""Seconds to wait for a holder that has not written the length of its lease yet."""


@frozen
class LeaseHolder:
    """The server that holds a lease."""

    name: str = ""  # drawn for each start of a server
    address: str = ""  # where peers find it, "host:port"
    host: str = ""  # the name of its machine
    machine: str = ""  # the boot of that machine, which its containers share

    def spell(self) -> str:
        return f"{self.address} on {self.host}"


@frozen
class Record:
    """A lease as it stands in the shared place."""

    generation: int  # how often the lease was taken until now
    holder: LeaseHolder = field(factory=LeaseHolder)
    length: float = UNKNOWN_LENGTH  # seconds without a change after which another one may take it
    beat: int = 0  # how often this holder has renewed it
    released: bool = False  # its holder has ended in order
    over: bool = False  # and the cluster with it

    def renewed(self) -> Record:
        return evolve(self, beat=self.beat + 1)

    def let_go(self, *, over: bool = False) -> Record:
        return evolve(self, beat=self.beat + 1, released=True, over=over)

    def taken_by(self, holder: LeaseHolder, length: float, above: int = 0) -> Record:
        """The next generation, which is also above the one that a journal has."""
        return Record(max(self.generation, above) + 1, holder, length)


NOBODY = Record(0, released=True)
"""The lease before anybody has taken it."""


@frozen
class Holding:
    """A lease from the side of its holder. All times are of the holder's own clock."""

    record: Record
    until: float

    @staticmethod
    def of(record: Record, began: float) -> Holding:
        """A lease that was written; `began` is a time before the writing did."""
        return Holding(record, began + record.length * (1.0 - MARGIN))

    def holds(self, now: float) -> bool:
        return now < self.until

    def renewed(self, record: Record, began: float, now: float) -> Holding:
        """It was written again, and that was over by now.

        If it took too long, the lease had lapsed before the change was there, and others may have
        missed it. Then nothing is gained.
        """
        return Holding.of(record, began) if self.holds(now) else Holding(record, self.until)


@define
class LeaseWatch:
    """A lease from the side of a server that waits for it. All times are of its own clock."""

    seen: Record = NOBODY
    since: float = 0.0  # when it was there as it is now, at the latest
    until: float = 0.0  # and when it still was, at the earliest

    def look(self, record: Record, began: float, now: float) -> None:
        """This was read between these two times."""
        if record != self.seen:
            self.seen, self.since = record, now
        self.until = began

    def may_take(self, *, has_ended: bool = False) -> bool:
        """Whether the holder has lost the lease; `has_ended` if its process has certainly ended."""
        unchanged = self.until - self.since
        return self.seen.released or has_ended or unchanged >= self.seen.length

    def left(self, now: float) -> float:
        """Seconds until then, if nothing changes."""
        return max(self.since + self.seen.length - now, 0.0)
