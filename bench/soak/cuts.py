"""Cuts of the network between the machines of a cluster, which heal after some seconds.

A cut is felt at its receiving end: what comes from the other end is dropped, or reset, or some of
it is lost. So it may hold in one way only.
"""

from __future__ import annotations

from random import Random

from attrs import Factory, define, frozen

from bench.machines import DROPPED, LOSSY, RESET, Machine

CUT_SECONDS = (0.5, 8.0)
"""How long a cut lasts: shorter and longer than a server waits for a governor that is silent or
whose connection was reset."""

MANNERS = {"dropped": DROPPED, "reset": RESET, "lossy": LOSSY}
WAYS = ("both ways", "one way")


@frozen
class Cut:
    """A link that is cut."""

    link: str  # what it connects, as server-governor
    ends: tuple[Machine, Machine]
    manner: str
    way: str  # if it is only one, the second end still hears the first one

    @property
    def name(self) -> str:
        return f"{self.link} {self.manner}, {self.way}"

    def begin(self) -> None:
        for deaf, other in self._deaf():
            deaf.loses_what_comes_from(other.address, MANNERS[self.manner])

    def end(self) -> None:
        for deaf, other in self._deaf():
            deaf.hears(other.address, MANNERS[self.manner])

    def _deaf(self) -> list[tuple[Machine, Machine]]:
        """Which machine does not hear which one."""
        one, other = self.ends
        return [(one, other), (other, one)][: 1 if self.way == "one way" else 2]


@define
class Network:
    """The links of a cluster whose machines are apart, and the cuts that have not healed."""

    server: Machine
    clients: Machine
    governors: list[Machine]
    cuts: list[tuple[float, Cut]] = Factory(list)  # each with the time at which it heals

    def links(self) -> dict[str, list[tuple[Machine, Machine]]]:
        """The pairs of machines that a cut of each kind can part."""
        each = list(dict.fromkeys(self.governors))
        kinds = {
            "server-governor": [(self.server, one) for one in each],
            "governor-governor": [(one, other) for one in each for other in each if one < other],
            "client-server": [(self.clients, self.server)] * (self.clients != self.server),
        }
        return {kind: pairs for kind, pairs in kinds.items() if pairs}

    def drawn(self, random: Random) -> Cut:
        """A random cut."""
        links = self.links()
        link = random.choice(list(links))
        one, other = random.choice(links[link])
        ends = (one, other) if random.random() < 0.5 else (other, one)
        return Cut(link, ends, random.choice(list(MANNERS)), random.choice(WAYS))

    def cut(self, cut: Cut, until: float) -> None:
        cut.begin()
        self.cuts.append((until, cut))

    def heal(self, now: float) -> None:
        """Ends the cuts that have lasted long enough."""
        for until, cut in self.cuts:
            if until <= now:
                cut.end()
        self.cuts = [(until, cut) for until, cut in self.cuts if until > now]
