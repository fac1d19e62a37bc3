"""How long one waits for a peer that does not read what it is told.

What a peer has not read is kept for it. Beyond a bound nothing more is read of what it says, since
it would only get more answers; if it then takes nothing for a while, or if even so too much waits
for it, it is dismissed, and the reason says why.
"""

import asyncio
from collections.abc import Callable

from rain.base.sizes import spell_size

UNREAD = 64 * 1024 * 1024
"""Bytes that may wait for a peer before it has to."""

MOST_UNREAD = 512 * 1024 * 1024
"""Bytes that are kept for a peer at most."""

SECONDS = 30.0
"""For so long a peer with more than may wait for it may take nothing."""


class Patience:
    """With one peer. It belongs to the thread of its loop."""

    def __init__(
        self,
        give_up: Callable[[str], object],
        *,
        makes_wait: bool,
        unread: int = UNREAD,
        most: int = MOST_UNREAD,
        seconds: float = SECONDS,
    ) -> None:
        self._give_up = give_up
        self._makes_wait = makes_wait  # else it is heard all the same
        self._unread = unread
        self._most = most
        self._seconds = seconds
        self._behind = 0
        self._timer: asyncio.TimerHandle | None = None  # while there is too much

    def judge(self, behind: int) -> bool:
        """`behind` bytes wait for the peer; whether it shall wait, too."""
        if behind > self._most:
            self.end()
            self._give_up(
                f"{spell_size(behind)} wait for it, and no more than {spell_size(self._most)}"
                " are kept for one that does not read"
            )
            return True
        if self._timer is None:
            if behind <= self._unread:
                return False
            self._begin()
        elif behind <= self._unread // 2:
            self.end()
            return False
        elif behind < self._behind:  # it reads, if slowly
            self.end()
            self._begin()
        self._behind = behind
        return self._makes_wait

    def end(self) -> None:
        """There is no reason to wait any more, or nobody to wait for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._seconds, self._lose)

    def _lose(self) -> None:
        self._give_up(
            f"it has read nothing for {self._seconds:g} seconds,"
            f" and {spell_size(self._behind)} wait for it"
        )
