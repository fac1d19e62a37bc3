"""Calls the users' callbacks of finished futures, in a thread of their own."""

import logging
import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Callback = Callable[[Any], object]

_log = logging.getLogger("rain.client")


class Callbacks:
    """Calls functions one after the other, in a thread that starts with the first.

    The thread that receives messages cannot do that, since a function may wait for another future.
    A forked child has no such thread. It starts one of its own for futures that fail in the child.
    The parent calls what was due in the parent.
    """

    def __init__(self) -> None:
        self._held: set[object] = set()
        self.begin()
        _living.add(self)

    def begin(self) -> None:
        """Nothing is due, and no thread has started."""
        self._due: SimpleQueue[tuple[Callback, object] | None] = SimpleQueue()
        self._starting = threading.RLock()
        self._has_started = False

    def hold(self, future: object) -> None:
        """Keeps a future alive until one of its callbacks is due, even if the program has dropped
        it.
        """
        self._held.add(future)

    def put(self, fn: Callback, future: object) -> None:
        """The function is to be called with the future."""
        self._held.discard(future)
        self._due.put((fn, future))
        if not self._has_started:
            with self._starting:
                if not self._has_started:
                    self._has_started = True
                    threading.Thread(
                        target=self._work, name="rain-client-callbacks", daemon=True
                    ).start()

    def stop(self) -> None:
        """Ends the thread when it has called all that was due until now."""
        self._due.put(None)

    def _work(self) -> None:
        while (due := self._due.get()) is not None:
            fn, future = due
            try:
                fn(future)
            # A user's function may raise anything; the others are called all the same.
            except Exception:  # noqa: BLE001
                _log.exception("a callback of %r has failed", future)
            del due, fn, future  # the queue may be empty for long


_living: "weakref.WeakSet[Callbacks]" = weakref.WeakSet()


def _begin_in_child() -> None:
    for callbacks in list(_living):
        callbacks.begin()


os.register_at_fork(after_in_child=_begin_in_child)
