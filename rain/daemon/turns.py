"""When a daemon takes its turns: as soon as something has arrived, or when its time has come.

The tasks of sockets put what they have heard into an inbox, and ring. Whatever they hear before the
turn begins belongs to that turn. A turn is a plain function, so nothing else runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import trio


class Turns:
    """The task in which a reactor takes its turns. All of it belongs to the thread of trio."""

    def __init__(
        self,
        turn: Callable[[], object],
        settle: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        """`settle` does what can wait until the messages of a turn have left.

        It gives the time of the next turn, if no ring comes before.
        """
        self._turn = turn
        self._settle = settle
        self._now = now
        self._rung = trio.Event()
        self._due = inf
        self._wakes = inf  # when the task that waits for times does
        self._moved = trio.Event()
        self._stopped = False

    def ring(self) -> None:
        """Asks for a turn."""
        self._rung.set()

    def ring_at(self, time: float) -> None:
        """Asks for a turn at this time, unless there is one before."""
        if time < self._due:
            self._due = time
            if time < self._wakes:
                self._moved.set()

    def stop(self) -> None:
        """Takes no more turns."""
        self._stopped = True
        self._rung.set()

    async def run(self) -> None:
        """Takes turns until it is stopped."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._wait_for_times)
            await self._rung.wait()
            while not self._stopped:
                self._rung, self._due = trio.Event(), inf
                self._turn()
                self.ring_at(self._settle())
                await self._rung.wait()
            nursery.cancel_scope.cancel()

    async def _wait_for_times(self) -> None:
        """Rings when a turn is due.

        Each turn moves that, nearly always to later. So this sleeps until the time that it has
        heard of first, and then looks what is due by now.
        """
        while True:
            self._wakes, self._moved = self._due, trio.Event()
            with trio.move_on_after(max(self._wakes - self._now(), 0.0)):
                await self._moved.wait()
                continue
            if self._due <= self._now():
                self._rung.set()
                self._wakes, self._moved = inf, trio.Event()
                await self._moved.wait()
