"""Ends the connection of a governor with its server: by order of the server, or because it is
lost.
"""

from __future__ import annotations

from collections.abc import Callable

import trio


class Parting:
    """The part of `ControlHandler` that all governors share; `ended` waits for the end."""

    def __init__(self) -> None:
        self._ended = trio.Event()
        self._cut = trio.Event()
        self._cause = ""  # of the cut
        self.calls_back: Callable[[bytes], object] = _nobody_reads  # set when it listens
        self.server_returns = False  # when it has died: a cut is not the end
        self.lost_server = ""  # the reason, once it is lost
        self.stop_reason = ""  # the reason, once the server has said so
        self.fenced = ""  # the reason, if the server does not take it back

    async def ended(self) -> None:
        """Waits until the server is lost or has told this governor to stop."""
        await self._ended.wait()

    def call_back(self, ticket: bytes) -> None:
        self.calls_back(ticket)

    async def cut(self) -> str:
        """Waits until the connection is cut and the server may come back; the cause."""
        await self._cut.wait()
        self._cut = trio.Event()
        return self._cause

    def drain(self) -> bool:
        """Starts to drain, if the governor has something that should not be lost.

        Returns whether this call has started it.
        """
        return False

    def stop(self, reason: str) -> None:
        self.stop_reason = reason or "the server gave no reason"
        self._ended.set()

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        cause = cause or "the connection ended"
        if self.stop_reason:  # the end was announced
            self._ended.set()
        elif self.server_returns and not at_fault:
            self._cause = cause
            self._cut.set()
        else:
            self.give_up(cause)

    def give_up(self, cause: str) -> None:
        """The server is lost for good."""
        self.lost_server = cause
        self._ended.set()

    def fence(self, reason: str) -> None:
        """The server is reachable, but refuses this governor."""
        self.fenced = reason
        self._ended.set()


def _nobody_reads(_: bytes) -> None:
    """There are no streams yet: the server waits for the call in vain."""
