"""Numbers for tasks and objects of a session that several clients extend."""

import threading
from collections.abc import Callable

from rain.base.ids import SHARED_RANGE


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
