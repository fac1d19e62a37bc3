"""How a governor separates from its server: by order of the server, or because it is lost."""

from __future__ import annotations

import trio


class Parting:
    """The part of `ControlHandler` that all governors share; `ended` waits for the end."""

    def __init__(self) -> None:
        self._ended = trio.Event()
        self.lost_server = ""  # the reason, once it is lost
        self.told_to_stop = ""  # the reason, once the server has said so

    async def ended(self) -> None:
        """Waits until the server is lost or has told this governor to stop."""
        await self._ended.wait()

    def stop(self, reason: str) -> None:
        self.told_to_stop = reason or "the server gave no reason"
        self._ended.set()

    def left(self, cause: str) -> None:
        if not self.told_to_stop:  # else the end was announced
            self.lost_server = cause or "the connection ended"
        self._ended.set()
