"""Virtual time: what happens when. Everything that is not decided is drawn from the seed."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from math import inf
from random import Random

START = 1000.0


class Agenda:
    """What will happen, the next first."""

    def __init__(self, seed: int) -> None:
        self.now = START
        self.random = Random(seed)
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()

    def at(self, time: float, do: Callable[[], object]) -> None:
        heapq.heappush(self._heap, (max(time, self.now), next(self._numbers), do))

    def after(self, seconds: float, do: Callable[[], object]) -> None:
        self.at(self.now + seconds, do)

    def within(self, least: float, most: float, do: Callable[[], object]) -> None:
        """After a random time."""
        self.after(self.random.uniform(least, most), do)

    def step(self) -> None:
        """Does what comes next."""
        self.now, _, do = heapq.heappop(self._heap)
        do()


class Mortal:
    """A process: what it has begun ends with it."""

    def __init__(self, agenda: Agenda) -> None:
        self.agenda = agenda
        self.lives = 0  # how many have begun
        self.is_alive = False

    def live(self) -> None:
        self.lives += 1
        self.is_alive = True

    def later(self, least: float, most: float, do: Callable[[], object]) -> None:
        """After a random time, if it still lives then."""
        self.agenda.within(least, most, self.in_this_life(do))

    def in_this_life(self, do: Callable[[], object]) -> Callable[[], object]:
        life = self.lives

        def unless_dead() -> None:
            if self.is_alive and self.lives == life:
                do()

        return unless_dead


class Daemon(Mortal, ABC):
    """A process with a reactor, whose turns come when something rings, or at a time."""

    def __init__(self, agenda: Agenda) -> None:
        super().__init__(agenda)
        self._due = inf  # when the next turn comes

    @abstractmethod
    def turn(self) -> None:
        """All that has come is taken in, and what follows is done."""

    def live(self) -> None:
        super().live()
        self._due = inf

    def ring(self) -> None:
        """A turn comes at once."""
        self.ring_at(self.agenda.now + self.agenda.random.uniform(0.0, 0.002))

    def ring_at(self, time: float) -> None:
        """A turn comes at this time, unless one comes before."""
        if time < self._due:
            self._due = time
            # Time goes on between two turns, or one that is a hair too early comes for ever.
            late = time + 1e-6
            self.agenda.at(late, self.in_this_life(lambda: self._turn_if_due(time)))

    def _turn_if_due(self, time: float) -> None:
        if self._due == time:
            self._due = inf
            self.turn()
