"""A time to wake that moves with every turn, nearly always to later.

To set a timer anew for each turn would cost as much as a small turn. So the timer stays where it
is: when it wakes too early, it is set for what is due then.
"""

from collections.abc import Callable
from math import inf

from rain.rpc.host import Timer, call_later


class Alarm:
    """Calls a plain function in the host when its time has come, unless it was moved meanwhile."""

    def __init__(self, ring: Callable[[], object], now: Callable[[], float]) -> None:
        self._ring = ring
        self._now = now
        self._due = inf
        self._wakes = inf  # when the timer does, which is not later than due
        self._timer: Timer | None = None

    def set(self, due: float) -> None:
        """Moves it, to earlier or to later."""
        self._due = due
        if due < self._wakes:
            if self._timer is not None:
                self._timer.cancel()
            self._sleep(due)

    def advance(self, due: float) -> None:
        """Moves it, to earlier only."""
        if due < self._due:
            self.set(due)

    def stop(self) -> None:
        """It will not ring again before it is set."""
        if self._timer is not None:
            self._timer.cancel()
        self._due = self._wakes = inf

    def _sleep(self, until: float) -> None:
        self._wakes = until
        self._timer = call_later(max(until - self._now(), 0.0), self._wake)

    def _wake(self) -> None:
        self._wakes = inf
        if self._due > self._now():
            if self._due < inf:
                self._sleep(self._due)
            return
        self._due = inf
        self._ring()
