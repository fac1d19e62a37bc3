"""Warns a waiting program if its tasks are held up by something that the user can fix.

A program that waits (for a session, for a future, in an event loop, inside of joblib) has an
unanswered request at the server. If that lasts for some seconds, the client asks the server what
holds the tasks up, and repeats the question with growing pauses. The wait itself goes on.

A short program never waits for that long. It is told of a scheduler that has failed when it closes
its client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from weakref import WeakMethod

from rain.base.errors import ConnectionLostError, RainError
from rain.base.wire.answers import HoldUps
from rain.base.wire.requests import WhatHoldsUp
from rain.client.connection import Connection
from rain.client.explaining.warn import warn_main_thread

FIRST, SELDOM = 2, 20
"""Heartbeats until the first question, and the most between two questions. A client that shows what
tasks print always has an unanswered request.
"""


LAST = 0.5
"""Seconds that the last question may take."""


class Lookout:
    """The reasons that hold up the tasks of one client; each is shown once."""

    def __init__(self, connection: Connection, warn: Callable[[str], object]) -> None:
        self._connection = connection
        self._warn = warn
        self._known: set[str] = set()
        self._begun = False
        self._waited = 0  # beats
        self._next = FIRST
        # It must not keep a connection alive that nobody has any more.
        connection.at_each_beat(partial(_call, WeakMethod(self.beat)))

    def beat(self) -> None:
        """Called every second in the thread of the connection, so it must not block."""
        if not self._connection.is_waited_for:
            self._waited, self._next = 0, FIRST
            return
        self._waited += 1
        if self._waited >= self._next:
            self._next = self._waited + min(self._waited, SELDOM)
            then = partial(_call, WeakMethod(self._tell))
            try:
                self._connection.ask_then(WhatHoldsUp(), then)
            except ConnectionLostError:
                return  # the calls that wait are told

    def begin(self) -> None:
        """The client has a session from now on."""
        self._begun = True

    def look_back(self) -> None:
        """Tells what has failed, before the connection is closed. A warning may raise."""
        if not self._begun:
            return
        with suppress(RainError, TimeoutError):  # the server has gone, or does not answer
            for hold_up in self._connection.ask(WhatHoldsUp(past=True), LAST).each:
                if hold_up.why not in self._known:
                    warn_main_thread(str(hold_up))

    def _tell(self, answer: HoldUps | Exception) -> None:
        if isinstance(answer, Exception):
            return  # the calls that wait are told
        for hold_up in answer.each:
            if hold_up.why not in self._known:
                self._known.add(hold_up.why)
                self._warn(str(hold_up))


def warn_aside(text: str) -> None:
    """Warns in a thread of its own: a filter may make it raise, and what shows it may wait."""
    threading.Thread(
        target=warn_main_thread, args=(text,), name="rain-client-warning", daemon=True
    ).start()


def _call(method: WeakMethod[Callable[..., object]], *args: object) -> None:
    alive = method()
    if alive is not None:
        alive(*args)
