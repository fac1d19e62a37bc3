"""The server's clock: seconds since 1970 that never jump, whatever happens to the wall clock."""

from __future__ import annotations

import time

from attrs import Factory, define


@define
class Clock:
    """Wall time when the server started, monotonic from there."""

    _offset: float = Factory(lambda: time.time() - time.monotonic())

    def now(self) -> float:
        return self._offset + time.monotonic()

    def stopwatch(self) -> float:
        """For durations."""
        return time.perf_counter()
