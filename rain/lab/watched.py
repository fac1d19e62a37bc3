"""Wraps a scheduler to measure how often it runs, how much news it gets, and its cost."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

from rain.graph import Graph
from rain.scheduler.api import News, Plan, Scheduler

Stopwatch = Callable[[], float]


def no_stopwatch() -> float:
    """A stopwatch that always shows 0; the lab itself has no clock."""
    return 0.0


@define(eq=False)
class WatchedScheduler:
    """Passes every run on to the plugin and measures it."""

    scheduler: Scheduler
    stopwatch: Stopwatch = no_stopwatch
    name: str = "of a test"  # as on the command line
    runs: int = 0
    seconds: float = 0.0  # measured with the stopwatch
    heard: int = 0  # pieces of news in the last run

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Runs the plugin once."""
        self.runs += 1
        self.heard = (
            len(news.submitted)
            + len(news.unplanned)
            + len(news.ready)
            + len(news.finished)
            + len(news.ended)
            + len(news.located)
        )
        started = self.stopwatch()
        self.scheduler.schedule(graph, news, plan)
        self.seconds += self.stopwatch() - started
