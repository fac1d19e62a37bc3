"""Schedules the turns of a daemon: as soon as a message has arrived, or at a set time.

The tasks that read sockets put messages into an inbox and ring. All messages that arrive before the
turn starts belong to that turn. A turn is a plain function, so nothing else runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import trio


class TurnLoop:
    """The trio task in which a reactor runs its turns. Use it only from the thread of trio."""

    def __init__(
        self,
        turn: Callable[[], object],
        settle: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        """`settle` does work that can wait until the messages of a turn were sent.

        It returns the time of the next turn if nothing rings before.
        """
        self._turn = turn
        self._settle = settle
        self._now = now
        self._rung = trio.Event()
        self._due = inf
        self._wakes = inf  # when the timer task wakes up
        self._moved = trio.Event()
        self._stopped = False

    def ring(self) -> None:
        """Requests a turn."""
        self._rung.set()

    def ring_at(self, time: float) -> None:
        """Requests a turn at this time, unless there is an earlier one."""
        if time < self._due:
            self._due = time
            if time < self._wakes:
                self._moved.set()

    def turn_now(self) -> None:
        """Makes a turn here and now, unless the turns were stopped."""
        if not self._stopped:
            self._turn()

    def stop(self) -> None:
        """Stops the turns."""
        self._stopped = True
        self._rung.set()

    async def run(self) -> None:
        """Runs turns until it is stopped."""
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

        Each turn changes the due time, nearly always to a later one. So this sleeps until the time
        that was set first, and then checks what is due.
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
