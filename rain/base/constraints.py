"""Constraints on where a task may run, besides the resources that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from attrs import frozen

PIN = "pin"
SPREAD = "spread"
APART = "apart"


@frozen
class Constraints:
    """Three optional rules; an empty one has no effect. Group names are local to a session."""

    pin: tuple[str, ...] = ()  # only on these governors, by "host:port" or by host alone
    spread: str = ""  # the tasks of this group are distributed evenly over the governors
    apart: str = ""  # no governor runs two tasks of this group at a time

    def admits(self, address: str) -> bool:
        """Whether the pin allows the governor with this address."""
        return not self.pin or address in self.pin or address.rpartition(":")[0] in self.pin

    def groups(self) -> tuple[tuple[str, str], ...]:
        """The groups of the task: rule and name of each."""
        named = ((SPREAD, self.spread), (APART, self.apart))
        return tuple(pair for pair in named if pair[1])

    def as_dict(self) -> dict[str, object]:
        """The constraints in the form that users write."""
        pin: dict[str, object] = {PIN: list(self.pin)} if self.pin else {}
        return pin | dict(self.groups())


def checked_constraints(given: Mapping[str, object]) -> Constraints | None:
    """Checks constraints of a user; raises a one-line ValueError if they are wrong."""
    known = (PIN, SPREAD, APART)
    for name in given:
        if name not in known:
            raise ValueError(f"there is no constraint {name!r}; known: {', '.join(known)}")
    made = Constraints(_pins(given.get(PIN, ())), _group(given, SPREAD), _group(given, APART))
    return None if made == Constraints() else made


def _pins(given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Iterable):
        names = tuple(cast("Iterable[object]", given))
        pins = tuple(name for name in names if isinstance(name, str) and name)
        if len(pins) == len(names):
            return pins
    raise ValueError(f"{PIN!r} names governors by host:port or host, not {given!r}")


def _group(given: Mapping[str, object], rule: str) -> str:
    name = given.get(rule, "")
    if not isinstance(name, str):
        raise ValueError(f"{rule!r} is the name of a group of tasks, not {name!r}")
    return name
