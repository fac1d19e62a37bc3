"""The server's clock: seconds since 1970 that never jump, whatever happens to the wall clock."""

from __future__ import annotations

import time

from attrs import Factory, define


@define
class Clock:
    """Wall time when the server started, or a later time that was reached; monotonic from there."""

    reached: float = 0.0  # by an earlier server, whose state goes on
    _offset: float = Factory(
        lambda self: max(time.time(), self.reached) - time.monotonic(), takes_self=True
    )

    def now(self) -> float:
        return self._offset + time.monotonic()

    def stopwatch(self) -> float:
        """For durations."""
        return time.perf_counter()
