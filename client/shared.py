"""Sessions that several share: other clients that join one, and tasks that extend their own."""

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rain.base.ids import SHARED_RANGE
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.client import Client
    from rain.client.session import Session

SERVER = "RAIN_SERVER"
"""Where governors tell their executors that the server is: HOST:PORT."""


class SharedNumbers:
    """Ids from ranges that the server gives out, so that those who share a session never clash."""

    def __init__(self, next_range: Callable[[], int]) -> None:
        self._next_range = next_range
        self._next = 0
        self._left = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        with self._lock:
            if not self._left:
                self._next = self._next_range()
                self._left = SHARED_RANGE
            number = self._next
            self._next += 1
            self._left -= 1
            return number


_clients: "dict[str, Client]" = {}  # of this process, by the address of the server
_lock = threading.Lock()


def task_session(ctx: Any) -> "Session":
    """The session of the task that runs: what is submitted to it becomes part of it.

    A task that waits for others keeps its cpus meanwhile. So give it none (`cpus=0`), or they may
    never get any.
    """
    # It itself is what the client makes sessions of.
    from rain.client.client import Client  # noqa: PLC0415

    address = os.environ.get(SERVER, "")
    if not address:
        raise RainException("task_session is for functions that run as tasks")
    with _lock:
        client = _clients.get(address)
        if client is None or client.housekeeper.closed:
            host, _, port = address.rpartition(":")
            client = _clients[address] = Client(host.strip("[]"), port)
    return client.join_session(ctx.spec.id.session_id)
