"""Where a task may run, beyond the resources that it needs: what users ask for by `constraints`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from attrs import frozen

PIN = "pin"
SPREAD = "spread"
APART = "apart"


@frozen
class Constraints:
    """Three wishes; an empty one says nothing. Groups are names that are known in one session."""

    pin: tuple[str, ...] = ()  # only on these governors, by "host:port" or by host alone
    spread: str = ""  # the tasks of this group are dealt out evenly over the governors
    apart: str = ""  # no governor has two tasks of this group at a time

    def admits(self, address: str) -> bool:
        """Whether the pin allows the governor with this address."""
        return not self.pin or address in self.pin or address.rpartition(":")[0] in self.pin

    def groups(self) -> tuple[tuple[str, str], ...]:
        """The groups that the task belongs to: the rule and the name."""
        named = ((SPREAD, self.spread), (APART, self.apart))
        return tuple(pair for pair in named if pair[1])

    def as_dict(self) -> dict[str, object]:
        """What was asked for, as users write it."""
        pin: dict[str, object] = {PIN: list(self.pin)} if self.pin else {}
        return pin | dict(self.groups())


def checked_constraints(given: Mapping[str, object]) -> Constraints | None:
    """The constraints that somebody has given; ValueError, in one line, if they are none."""
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
