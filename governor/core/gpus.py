"""Lends gpus to tasks: each gpu to one task at a time, by name.

`resources` counts how many gpus are free; this module says which ones. Gpus have the names that
CUDA uses: a number, or a UUID that was given to the governor.
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.errors import InvariantError
from rain.base.resources import GPUS, Resources

Lent = tuple[str, ...]
"""The gpus of one task, in the governor's order."""


class Gpus:
    """The gpus of a governor, in a fixed order, and which of them are free."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._places = {name: place for place, name in enumerate(names)}
        self.free: list[str] = list(names)

    @staticmethod
    def of(capacity: Resources, names: Sequence[str] = ()) -> Gpus:
        """Returns the gpus of a governor; without names they are numbered from 0."""
        count = capacity.amount(GPUS)
        if not names:
            names = [str(number) for number in range(count)]
        if len(set(names)) != count:
            raise InvariantError(f"{count} gpus are offered, and there are {list(names)}")
        return Gpus(names)

    def are_free(self, names: Lent) -> bool:
        """Whether none of these is lent."""
        return all(name in self.free for name in names)

    def take(self, count: int, rather: Lent = ()) -> Lent:
        """Lends `count` gpus: those of `rather` if they match and are free, else the first free."""
        if count > len(self.free):
            raise InvariantError(f"{count} gpus are taken, and only {len(self.free)} are free")
        lent = rather if len(rather) == count and self.are_free(rather) else self.free[:count]
        self.free = [name for name in self.free if name not in lent]
        return tuple(lent)

    def give_back(self, lent: Lent) -> None:
        """Marks these gpus as free."""
        if lent:
            self.free = sorted((*self.free, *lent), key=self._places.__getitem__)

    def shown(self, lent: Lent) -> Lent | None:
        """The gpus that a task is told of: its own or none; None on a machine without gpus."""
        return lent if self.names else None
