"""A thread that sends calls for which no thread waits yet.

It looks every millisecond as long as it finds calls, less and less often while it finds none, and
sleeps when none came for some time. To wake it for every call would cost a program that makes one
call after the other a tenth of its time. Such a program sends its calls itself, when it waits for
them; so this thread finds none there, and hardly wakes.
"""

import os
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakMethod

EVERY, SELDOM = 0.001, 0.008
"""Seconds between two looks, while there is something to send; doubled with each look in vain."""

IDLE = 7
"""After this number of looks without a call, the thread sleeps until it is woken."""


class CallSender:
    """The thread; it starts with the first call."""

    def __init__(self, send: WeakMethod[Callable[[], Any]]) -> None:
        self._send = send  # so that the thread keeps no client alive
        self._is_due = False
        self._is_asleep = True
        # Both bear a signal handler that submits in the middle of a submit.
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None
        self._is_over = False
        _living.add(self)

    def soon(self) -> None:
        """There is something to send."""
        self._is_due = True
        if self._is_asleep:
            if self._thread is None:
                self._start()
            self._wake.put(None)

    @property
    def is_over(self) -> bool:
        """Whether the thread has ended, so that callers send by themselves."""
        return self._is_over

    def sent(self) -> None:
        """Everything was sent by another thread."""
        self._is_due = False

    def stop(self) -> None:
        """Ends the thread, after it has sent what is left. Callers then send by themselves."""
        self._is_over = True
        self._wake.put(None)

    def leave_to_parent(self) -> None:
        """In a forked child, which has no such thread: callers send by themselves, in vain."""
        self._is_over = True

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="rain-client-sender", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        while not self._is_over:
            self._is_asleep = True
            if not self._is_due:  # looked at after it was said that the thread is asleep
                self._wake.get()
            self._is_asleep = False
            while self._is_woken():
                pass  # as often as it was asked for
            self._look()
        # The remaining calls are sent now, or fail because the connection is closed.
        send = self._send()
        if send is not None:
            send()

    def _is_woken(self, within: float = 0.0) -> bool:
        try:
            self._wake.get(timeout=within)
        except Empty:
            return False
        return True

    def _look(self) -> None:
        """Sends what is due, until nothing was for some time."""
        idle, pause = 0, EVERY
        while idle < IDLE and not self._is_woken(pause):
            idle, pause = idle + 1, min(2 * pause, SELDOM)
            if self._is_due:
                idle, pause = 0, EVERY
                self._is_due = False
                send = self._send()
                if send is None:
                    self._is_over = True
                    return
                send()
                del send


_living: "weakref.WeakSet[CallSender]" = weakref.WeakSet()


def _leave_in_child() -> None:
    for sender in list(_living):
        sender.leave_to_parent()


os.register_at_fork(after_in_child=_leave_in_child)
