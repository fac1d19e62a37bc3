"""What a session has described, on its way to the server: not submitted yet, or remembered."""

import threading
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from rain.base.ids import NUMBER_MASK, pack
from rain.base.wire import Submission
from rain.client.history import History
from rain.client.numbers import SharedNumbers
from rain.client.pending import Pending
from rain.client.submission import Batch, KindTable, build

T = TypeVar("T")


class Outgoing:
    """The submits of one session, one after the other whatever thread they come from."""

    def __init__(self, session_id: int, numbers: SharedNumbers | None) -> None:
        self.pending = Pending()
        self.history = History()
        self.submits = 0  # so many were accepted
        self._session_id = session_id
        # Counted down from the last number, so that tasks and objects have numbers without gaps.
        self._kinds = KindTable(numbers or count(pack(session_id, NUMBER_MASK), -1).__next__)
        self._sending = threading.Lock()

    def submit(
        self, send: Callable[[Submission], T], has_left: Callable[[], bool]
    ) -> tuple[Submission, T] | None:
        """Sends all that is pending, if there is anything; whatever `send` raises changes nothing.

        Unless that is an interruption, and what was sent has left already. Gives what was sent,
        and what sending it gave.
        """
        with self._sending:
            batch = self.pending.take()
            if not (batch.tasks or batch.objects):
                return None
            accepted = False
            try:
                message = build(self._session_id, batch, self._kinds)
                sent = send(message)
                accepted = True
            finally:
                if accepted or has_left():
                    self._kinds.told()
                    self._note_submitted(batch)
                else:
                    self._kinds.forget_untold()
                    self.pending.put_back(batch)
            return message, sent

    def _note_submitted(self, batch: Batch) -> None:
        number = self.submits + 1
        for task in batch.tasks:
            task.submission = number
            for obj in task.output_objects:
                obj.submission = number
        for obj in batch.objects:
            obj.submission = number
            obj.constant = None
        if batch.tasks:
            self.history.note(batch.tasks)
        self.submits = number

    def clear(self) -> None:
        """Forgets all of it."""
        self.pending.clear()
        self.history.clear()
