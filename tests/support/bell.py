"""What may happen again and again, and one test waits for."""

from __future__ import annotations

import trio


class Bell:
    """Rings before the wait are kept, as one."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        """Returns once it was rung since the last return."""
        await self._rung.wait()
        self._rung = trio.Event()
