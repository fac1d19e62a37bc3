"""Amounts of named resources: what a governor has and what a task needs.

Every task needs some cpus (1 unless said, 0 is allowed); any other name (memory, gpus, a licence)
counts the same way. Amounts are whole numbers: memory is in bytes, cpus and gpus in pieces.
"""

from collections.abc import Iterator, Mapping

from attrs import field, frozen

CPUS = "cpus"


def _named(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    for name, amount in amounts.items():
        if amount < 0:
            raise ValueError(f"resource {name!r} cannot be negative: {amount}")
    return tuple(sorted((name, amount) for name, amount in amounts.items() if name != CPUS))


@frozen
class Resources:
    """Cpus, and other resources in the order of their names (0 of something is not mentioned)."""

    cpus: int = 1
    others: tuple[tuple[str, int], ...] = field(default=())

    @staticmethod
    def of(amounts: Mapping[str, int]) -> "Resources":
        """Resources from a mapping; missing cpus mean one."""
        cpus = amounts.get(CPUS, 1)
        if cpus < 0:
            raise ValueError(f"resource 'cpus' cannot be negative: {cpus}")
        return Resources(cpus, tuple(pair for pair in _named(amounts) if pair[1]))

    def items(self) -> Iterator[tuple[str, int]]:
        """All names and amounts, cpus first."""
        yield CPUS, self.cpus
        yield from self.others

    def as_dict(self) -> dict[str, int]:
        """The same as a mapping, cpus always named."""
        return dict(self.items())

    def fits(self, capacity: "Resources") -> bool:
        """Whether an otherwise empty governor with this capacity could run it."""
        if self.cpus > capacity.cpus:
            return False
        if not self.others:
            return True
        there = dict(capacity.others)
        return all(amount <= there.get(name, 0) for name, amount in self.others)


ONE_CPU = Resources()
