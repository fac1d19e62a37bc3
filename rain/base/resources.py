"""Amounts of named resources: what a governor has and what a task needs.

Every task needs some cpus (1 by default, 0 is allowed); other resources (memory, gpus, licences)
work the same way. Amounts are integers: memory is in bytes.
"""

import re
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from rain.base.sizes import parse_size, spell_size

CPUS = "cpus"
GPUS = "gpus"
MEMORY = "memory"

_OWN_OPTIONS = {CPUS: "--cpus", GPUS: "--gpus", MEMORY: "--memory"}

LARGEST = 2**63 - 1
"""The largest amount that fits on the wire."""

_FACTOR = re.compile(r"\d+(\.\d+)?x", re.ASCII)

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


def checked_amount(name: str, amount: object) -> int:
    """Checks an amount given by a user; raises a one-line ValueError if it is wrong.

    It must be an integer; memory may also be a size, such as "2GiB".
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not the name of a resource: use letters, digits and _ . -")
    if name == MEMORY and isinstance(amount, str):
        if _FACTOR.fullmatch(amount.strip()):
            raise ValueError(
                f"the resource 'memory': {amount!r} is not a size; a task that was ended for its"
                " memory gets twice as much for its next run by itself, and memory_tries= says how"
                " often"
            )
        try:
            amount = parse_size(amount)
        except ValueError as error:
            raise ValueError(f"the resource 'memory': {error}") from None
    if not isinstance(amount, int) or isinstance(amount, bool) or not 0 <= amount <= LARGEST:
        size = ' or a size such as "2GiB"' if name == MEMORY else ""
        hint = "; a task that mostly waits needs cpus=0" if name == CPUS and amount != 0 else ""
        raise ValueError(
            f"the resource {name!r} must be a whole number{size}, not {amount!r}{hint}"
        )
    return amount


def read_named(entry: str) -> tuple[str, int]:
    """NAME=AMOUNT of a command line; ValueError if it is not, or has an option of its own."""
    name, equals, amount = entry.partition("=")
    if not equals or not amount.isdecimal():
        raise ValueError(
            f"{entry!r} is not NAME=AMOUNT with a whole number: write for instance licence=2"
        )
    if name in _OWN_OPTIONS:
        raise ValueError(f"{entry!r}: use {_OWN_OPTIONS[name]}")
    try:
        return name, checked_amount(name, int(amount))
    except ValueError as error:
        raise ValueError(f"{entry!r}: {error}") from None


def _named(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    for name, amount in amounts.items():
        if amount < 0:
            raise ValueError(f"resource {name!r} cannot be negative: {amount}")
    return tuple(sorted((name, amount) for name, amount in amounts.items() if name != CPUS))


def spell_amount(name: str, amount: int) -> str:
    """Formats the amount of a resource."""
    return spell_size(amount) if name == MEMORY else str(amount)


@frozen
class Resources:
    """Cpus, and other resources sorted by name (without amounts of 0)."""

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
        """The resources as a mapping that always includes cpus."""
        return dict(self.items())

    def amount(self, name: str) -> int:
        """The amount of one resource."""
        return self.cpus if name == CPUS else dict(self.others).get(name, 0)

    def fits(self, capacity: "Resources") -> bool:
        """Whether an otherwise empty governor with this capacity could run it."""
        if self.cpus > capacity.cpus:
            return False
        if not self.others:
            return True
        there = dict(capacity.others)
        return all(amount <= there.get(name, 0) for name, amount in self.others)

    def times_in(self, capacity: "Resources") -> int:
        """How often it fits at once, by the scarcest resource; at least 1, to allow division."""
        there = dict(capacity.others)
        times = [capacity.cpus // self.cpus] if self.cpus else []
        times += [there.get(name, 0) // amount for name, amount in self.others]
        return max(min(times, default=1), 1)


ONE_CPU = Resources()

NO_ROOM = Resources(-1)
"""What a governor has that gets no tasks: not even a task that needs nothing fits."""
