"""Lets the server read from governors that it cannot connect to: they connect to the server
instead.

The server sends a ticket to a governor over its link. The governor connects to the server's port as
a reader does, sends the ticket, and then answers requests on that connection as if the server had
made it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from rain.base.errors import ProtocolError
from rain.stream.errors import UnreachableError
from rain.stream.sockets import Connected

CALL_BACK_LIMIT = 5.0
"""Seconds that a governor has to call back."""

TICKET_BYTES = 16

AskForCall = Callable[[int, bytes], bool]
"""Asks the governor of an incarnation to call back with a ticket; False if it has left."""


class CallsBack:
    """The calls that are waited for. Used by the threads of streams."""

    def __init__(self, ask: AskForCall, limit: float = CALL_BACK_LIMIT) -> None:
        self._ask = ask
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: dict[bytes, _Call] = {}

    def get(self, incarnation: int) -> Connected:
        """A connection that this governor has made. `UnreachableError` if it does not come."""
        ticket, call = secrets.token_bytes(TICKET_BYTES), _Call()
        with self._lock:
            self._waiting[ticket] = call
        try:
            if not self._ask(incarnation, ticket):
                raise UnreachableError("the governor has left")
            call.came.wait(self._limit)
        finally:
            with self._lock:
                del self._waiting[ticket]
        if call.connected is None:
            raise UnreachableError(
                f"the governor has not called back within {self._limit:g} seconds"
            )
        return call.connected

    def bring(self, ticket: bytes, connected: Connected) -> None:
        """Hands a connection to the one who waits for it; `ProtocolError` if nobody does."""
        with self._lock:
            call = self._waiting.get(ticket)
            if call is None or call.connected is not None:
                raise ProtocolError("nobody waits for this call back, or not any more")
            call.connected = connected
        call.came.set()


class _Call:
    """One that is waited for."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.connected: Connected | None = None
