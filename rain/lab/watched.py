"""A scheduler that is watched: how often it runs, what it hears, and what that costs."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

from rain.graph import Graph
from rain.scheduler.api import News, Plan, Scheduler

Stopwatch = Callable[[], float]


def no_stopwatch() -> float:
    """For those who do not want to know; the lab itself has no clock."""
    return 0.0


@define(eq=False)
class WatchedScheduler:
    """Passes every run on to the plugin."""

    scheduler: Scheduler
    stopwatch: Stopwatch = no_stopwatch
    name: str = "of a test"  # as on the command line
    runs: int = 0
    seconds: float = 0.0  # by the stopwatch
    heard: int = 0  # pieces of news in the last run

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """One run."""
        self.runs += 1
        self.heard = (
            len(news.submitted)
            + len(news.unplanned)
            + len(news.ready)
            + len(news.finished)
            + len(news.located)
        )
        started = self.stopwatch()
        self.scheduler.schedule(graph, news, plan)
        self.seconds += self.stopwatch() - started
