"""Reports to the governor when the running call waits for other tasks, and when it goes on.

The call lends its cpus for that time (see rain/governor/core/resources.py). Only the thread of the
call itself counts: while another thread of a task waits, the task may still compute.
"""

from threading import get_ident

from rain.common.errors import RainException
from rain.executor.desk import Desk
from rain.executor.interrupts import Interrupts


class Blocking:
    """The running call, for code that waits in it."""

    def __init__(self, desk: Desk, interrupts: Interrupts) -> None:
        self._desk = desk
        self._interrupts = interrupts
        self._thread = get_ident()
        self._waits = 0  # one inside the other
        self.task = 0  # that of the last call
        self.at_work = False  # it runs, its arguments are read, or its outputs are made
        interrupts.on_refusal = self._refused

    @property
    def call(self) -> tuple[int, int] | None:
        """The running task, and the number of its call."""
        interrupts = self._interrupts
        return (self.task, interrupts.call) if self.at_work and not interrupts.is_stopped else None

    def begin_wait(self) -> bool:
        """The outermost wait is reported to the governor."""
        if get_ident() != self._thread or not self._interrupts.open:
            return False
        self._waits += 1
        if self._waits == 1:
            self._desk.blocked()
        return True

    def end_wait(self) -> None:
        """The call goes on."""
        self._waits -= 1
        if not self._waits:
            self._desk.resumed()

    def _refused(self, most: int) -> None:
        """Raises in the wait of the call, unless it is over."""
        if self._waits:
            raise RainException(
                f"too many tasks wait for tasks of their own: their governor lets {most} wait at"
                " once, since each of them is a process. Wait in fewer tasks, or start governors"
                " with a larger --most-blocked"
            )
