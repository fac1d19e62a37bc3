"""Sends the calls of a client: when there are many, when a thread waits for one, or after a moment.

Most calls are gathered and sent together. A thread sends calls that nobody waits for yet. It looks
for calls every millisecond as long as it finds some, less and less often while it finds none, and
sleeps after a while without any. Waking it for every call would cost a program that makes one call
after the other a tenth of its time. Such a program sends each call itself when it waits for the
result, so the thread finds none and hardly ever wakes.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod, WeakSet

from rain.base.errors import NO_WAIT_IN_HANDLER, RainError
from rain.base.wire.requests import Cancel, Submit
from rain.base.wire.submission import Submission
from rain.client.in_loops import is_in_loop
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.connection import Connection
    from rain.client.data import DataObject
    from rain.client.futures.borrowed import Borrowing
    from rain.client.futures.ends import Ends
    from rain.client.session import Session

SENT_AT = 1000
"""Calls that are sent at once: the cluster works on them while the next ones are made."""

EVERY, SELDOM = 0.001, 0.008
"""Seconds between two looks, while there is something to send; doubled with each look in vain."""

IDLE = 7
"""After this number of looks without a call, the thread sleeps until it is woken."""


class Sending:
    """The unsent work of one client: calls, handles to be taken, cancellations."""

    def __init__(
        self, session: Session, connection: Connection, ends: Ends, borrowing: Borrowing
    ) -> None:
        self._session = session
        self._connection = connection
        self._ends = ends
        self._borrowing = borrowing
        self.thread = CallSender(WeakMethod(self.send))
        self._unsent = 0  # about
        self._cancels: deque[Cancel] = deque()  # to be sent after the calls

    def add_call(self) -> None:
        """A call was added to the session."""
        self._unsent += 1
        if self._connection.here is None:  # else it is sent only when its result is awaited
            self.thread.soon()

    def send_many(self) -> None:
        """Sends what was added, if that is much; when the client is closed, it fails at once."""
        if self._unsent >= SENT_AT or self.thread.is_over:
            self.send_or_leave()

    def send(self, *, awaited: bool = False) -> None:
        """Sends all calls that were not sent yet. What cannot be sent has failed.

        A single call that is awaited takes the wait for its result along, which saves messages.
        """
        self._unsent = 0
        self.thread.sent()
        if self._borrowing.untold:
            self._borrowing.take()
        # Taken before the calls, so that the server knows what is cancelled.
        cancels = [self._cancels.popleft() for _ in range(len(self._cancels))]
        try:
            self._session.submit_by(self._submit_awaited if awaited else self._submit)
        except (RainError, RainException) as error:
            self._fail_unsent(error)
        for cancel in cancels:
            # The caller has gone on. Waits for results raise that the server is lost.
            with suppress(RainError, RainException):
                self._say(cancel)

    def send_rest(self) -> bool:
        """Sends what was added, if anything was."""
        if not self._unsent:
            return False
        self.send()
        return True

    def send_and_hear(self) -> None:
        """Sends all, and waits for the answer, which may be a refusal (for instance because a disk
        is full).
        """
        self._unsent = 0
        self.thread.sent()
        self._borrowing.take()
        try:
            self._session.submit_by(lambda submission: self._connection.ask(Submit(submission)))
        except (RainError, RainException) as error:
            raise self._fail_unsent(error) from None
        self._ends.follow_open()

    def send_or_leave(self, *, awaited: bool = False) -> None:
        """Sends all; where uploads would hold up a loop, the thread does it."""
        if self._would_hold_up_a_loop():
            self.thread.soon()
        else:
            self.send(awaited=awaited)

    def cancel(self, cancel: Cancel) -> None:
        """Sends all, and then this; or leaves both to the thread, as above."""
        if self._would_hold_up_a_loop():
            self._cancels.append(cancel)
            self.thread.soon()
        else:
            self.send()
            self._say(cancel)

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was submitting."""
        return self._session.is_interrupted_here or self._connection.is_interrupted_here

    def expect_free(self, handle: DataObject) -> None:
        """Refuses to wait for this in such a handler, if it could never be there."""
        if self._session.is_interrupted_here and not handle.submission:
            raise RainException(
                "a signal handler cannot wait here: it came in the middle of a submit, which takes"
                " its call along when it returns; submit in the handler, and wait outside of it"
            )
        if self._connection.is_interrupted_here:
            raise RainException(NO_WAIT_IN_HANDLER)

    def _say(self, cancel: Cancel) -> None:
        with self._session.asking():
            self._connection.say(cancel)

    def _would_hold_up_a_loop(self) -> bool:
        """Whether to send takes long here, and there is a thread that can do it."""
        return (
            self._session.submits_slowly
            and self._connection.here is None
            and not self.thread.is_over
            and is_in_loop()
        )

    def _fail_unsent(self, error: Exception) -> Exception:
        """All that was not sent has failed; returns the exception for users."""
        public = self._ends.public_error(error)
        for task in self._session.drop_pending():
            self._ends.fail(task.output.packed_id, public)
        return public

    def _submit(self, submission: Submission) -> None:
        outputs = submission.tasks.outputs
        self._connection.ask_then(Submit(submission), partial(self._ends.answered, outputs))
        self._ends.follow()

    def _submit_awaited(self, submission: Submission) -> None:
        outputs = submission.tasks.outputs
        if len(outputs) != 1:
            self._submit(submission)
            return
        self._connection.ask_then(
            Submit(submission, tuple(outputs)), partial(self._ends.arrived, outputs)
        )


class CallSender:
    """The thread; it starts with the first call."""

    def __init__(self, send: WeakMethod[Callable[[], Any]]) -> None:
        self._send = send  # so that the thread keeps no client alive
        self._is_due = False
        self._is_asleep = True
        # Reentrant locks: a signal handler may submit in the middle of a submit.
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


_living: WeakSet[CallSender] = WeakSet()


def _leave_in_child() -> None:
    for sender in list(_living):
        sender.leave_to_parent()


os.register_at_fork(after_in_child=_leave_in_child)
