"""The background work of a client: it reports collected handles, and it cleans up.

A finalizer runs wherever the garbage collector happens to, so it may neither block nor take a lock.
It only leaves a note, and a thread of the client processes the notes in batches.
"""

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from math import inf
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from rain.base.errors import RainError
from rain.base.ids import ObjectId, TaskId, session_of
from rain.base.wire.requests import HandlesGone
from rain.client.connection import Connection

T = TypeVar("T")

HOLDING_DATA = 0.1
"""Seconds for which collected handles are gathered whose objects may hold data.

That is a message, for all of them together. A fifth of this value costs 50 microseconds of CPU time
for each of many tasks that run one after the other; a larger value saves nothing more.
"""

HOLDING_NOTHING = 1.0
"""Seconds for which all other collected handles are gathered.

They keep only nodes of the server's graph alive. Removing nodes while small tasks run would
take a tenth of their time, and a short session ends before that.
"""

TOLD_AT_ONCE = 10_000
"""Handles in one message."""

_STOP = 0.0  # no time to wait for anything


class Closable(Protocol):
    """An object that ends together with the client."""

    def close(self) -> None: ...


class Housekeeper:
    """Owns the connection, and the embedded cluster if there is one, until they are closed.

    It knows nothing of the client, whose last reference may go at any time.
    """

    def __init__(self, connection: Connection, cluster: Closable | None) -> None:
        self.connection = connection
        self.open_sessions: set[int] = set()
        self.cluster = cluster
        self.at_close: list[Callable[[], None]] = []  # holds no client
        self.at_end: list[Callable[[], None]] = []  # when what was open has failed; the same
        self._collected: deque[ObjectId] = deque()
        self._collected_tasks: deque[TaskId] = deque()
        self._given_back: deque[ObjectId] = deque()  # whatever their sessions
        self.before_telling: list[Callable[[], None]] = []  # taken handles are reported first
        self._noted = inf  # a look was asked for, within this many seconds
        self._notes: SimpleQueue[float] = SimpleQueue()  # the same; 0: stop
        self._flushing = threading.RLock()  # a signal handler may come in the middle
        self._closing = threading.RLock()
        self._closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(
            target=self._work, name="rain-client-housekeeper", daemon=True
        )
        self._thread.start()
        _living.add(self)

    def drop(self, packed_id: ObjectId, *, holds_data: bool) -> None:
        """The handle of a submitted object was collected. Called by finalizers."""
        self._collected.append(packed_id)
        self._note(HOLDING_DATA if holds_data else HOLDING_NOTHING)

    def drop_task(self, packed_id: TaskId) -> None:
        """The handle of a submitted task was collected. Called by finalizers."""
        self._collected_tasks.append(packed_id)
        self._note(HOLDING_NOTHING)

    def give_back(self, packed_id: ObjectId) -> None:
        """The handle of a borrowed object was collected. Called by finalizers."""
        self._given_back.append(packed_id)
        self._note(HOLDING_DATA)

    def _note(self, seconds: float) -> None:
        if seconds < self._noted:
            self._noted = seconds
            self._notes.put(seconds)

    def stop_soon(self) -> None:
        """The client was collected: the thread closes everything. Called by a finalizer."""
        self._notes.put(_STOP)

    def flush(self) -> None:
        """Tells the server of all handles that were collected until now."""
        with self._flushing:
            self._noted = inf  # before the look, so that no note is missed
            tasks, objects = _taken(self._collected_tasks), _taken(self._collected)
            open_sessions = self.open_sessions  # not needed for a closed session
            tasks = [one for one in tasks if session_of(one) in open_sessions]
            objects = [one for one in objects if session_of(one) in open_sessions]
            objects += _taken(self._given_back)
            for tell in self.before_telling:
                tell()
            with suppress(RainError):  # nor does a server that has gone
                for start in range(0, max(len(tasks), len(objects)), TOLD_AT_ONCE):
                    some = slice(start, start + TOLD_AT_ONCE)
                    self.connection.say(HandlesGone(tuple(tasks[some]), tuple(objects[some])))

    def close(self) -> None:
        """Ends everything, and returns when it has ended; idempotent.

        In a forked child it does nothing: everything belongs to the parent.
        """
        if os.getpid() != self._process:
            return
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._notes.put(_STOP)
            with ExitStack() as ending:  # whatever a warning raises
                for end in self.at_end:  # what is added last is called first
                    ending.callback(end)
                if self.cluster is not None:
                    ending.callback(self.cluster.close)
                ending.callback(self.connection.close)
                for end in self.at_close:
                    end()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def join(self) -> None:
        """Waits for the end of the thread, after `stop_soon`."""
        self._thread.join()

    @property
    def closed(self) -> bool:
        return self._closed

    def _work(self) -> None:
        wait = self._notes.get()
        while wait != _STOP:
            try:
                wait = min(wait, self._notes.get(timeout=wait))  # it is more urgent now
            except Empty:
                self.flush()
                wait = self._notes.get()
        self.close()


def _taken(collected: deque[T]) -> list[T]:
    """All that is there now; finalizers may add more meanwhile."""
    return [collected.popleft() for _ in range(len(collected))]


_living: "weakref.WeakSet[Housekeeper]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for housekeeper in list(_living):
        housekeeper.close()
