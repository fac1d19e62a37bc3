"""The server's clock: seconds since 1970 that never jump, whatever happens to the wall clock."""

from __future__ import annotations

import time

from attrs import Factory, define

from rain.graph import Graph
from rain.scheduler.api import News, Plan, Scheduler


@define
class Clock:
    """Wall time when the server started, monotonic from there."""

    _offset: float = Factory(lambda: time.time() - time.monotonic())

    def now(self) -> float:
        return self._offset + time.monotonic()

    def stopwatch(self) -> float:
        """For durations."""
        return time.perf_counter()


@define(eq=False)
class TimedScheduler:
    """A scheduler whose runs are timed, because the reactor that calls it knows no clock."""

    scheduler: Scheduler
    clock: Clock
    _took: float = 0.0

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        started = self.clock.stopwatch()
        try:
            self.scheduler.schedule(graph, news, plan)
        finally:
            self._took = self.clock.stopwatch() - started

    def take(self) -> float:
        """How long the last run took, told once; 0 when there was none."""
        took, self._took = self._took, 0.0
        return took
