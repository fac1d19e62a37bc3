"""Gives ids to tasks and objects of a session that several clients add to."""

import threading
from collections.abc import Callable

from rain.base.ids import SHARED_RANGE


class SharedNumbers:
    """Ids from ranges that the server gives out, so that those who share a session never clash."""

    def __init__(self, next_range: Callable[[], int]) -> None:
        self._next_range = next_range
        self._left = iter(range(0))
        self._lock = threading.RLock()  # a signal handler may need numbers, too

    def __call__(self) -> int:
        while True:
            number = next(self._left, None)  # a single step, so that nothing interrupts it
            if number is not None:
                return number
            used_up = self._left
            with self._lock:
                if self._left is used_up:  # nobody else has asked meanwhile
                    first = self._next_range()
                    self._left = iter(range(first, first + SHARED_RANGE))
