"""Which gpus are whose: each is lent to one task at a time, by name.

How many are free is counted with all other resources (`resources`); this says which ones. A gpu is
named as CUDA names it: by its number, or by the UUID that the governor was told.
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.errors import InvariantError
from rain.base.resources import GPUS, Resources

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that tells CUDA programs which gpus there are for them."""

Lent = tuple[str, ...]
"""The gpus of one task, in the governor's order."""


class Gpus:
    """The gpus of a governor, in a fixed order; those that are not lent are free."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._places = {name: place for place, name in enumerate(names)}
        self.free: list[str] = list(names)

    @staticmethod
    def of(capacity: Resources, names: Sequence[str] = ()) -> Gpus:
        """Those of a governor; without names they are counted from 0."""
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
        """Lends so many: the ones that are named if they fit and are free, else the first."""
        if count > len(self.free):
            raise InvariantError(f"{count} gpus are taken, and only {len(self.free)} are free")
        lent = rather if len(rather) == count and self.are_free(rather) else self.free[:count]
        self.free = [name for name in self.free if name not in lent]
        return tuple(lent)

    def give_back(self, lent: Lent) -> None:
        """These are free again."""
        if lent:
            self.free = sorted((*self.free, *lent), key=self._places.__getitem__)

    def shown(self, lent: Lent) -> Lent | None:
        """What a task is told: its gpus, none, or, where there are no gpus at all, nothing."""
        return lent if self.names else None
