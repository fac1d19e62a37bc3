"""How a governor and its server part: the server says so, or is lost."""

from __future__ import annotations

import trio


class Parting:
    """That half of a `ControlHandler` which every governor has; `ended` waits for it."""

    def __init__(self) -> None:
        self._ended = trio.Event()
        self.lost_server = ""  # why, once it is lost
        self.told_to_stop = ""  # by the server, and why

    async def ended(self) -> None:
        """Returns when the server has gone, or has told this governor to stop."""
        await self._ended.wait()

    def stop(self, reason: str) -> None:
        self.told_to_stop = reason or "the server gave no reason"
        self._ended.set()

    def left(self, cause: str) -> None:
        if not self.told_to_stop:  # else the end was announced, and is in order
            self.lost_server = cause or "the connection ended"
        self._ended.set()
