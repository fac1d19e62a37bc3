"""Tunes Python's garbage collector in a daemon: it runs seldom and skips long-lived objects.

A graph of a million tasks consists of millions of live objects. The collector would scan them again
and again while the graph grows and find nothing: this took a third of the server's time per task.
The server and the governor break their reference cycles themselves when a session ends, so the
collector finds almost nothing but closed connections.
"""

from __future__ import annotations

import gc
from math import inf

YOUNG = 100_000
"""New containers before the youngest generation is collected; Python's default is 700."""

FEW = 20_000
"""Up to this many nodes, a full collection takes a few hundredths of a second."""

PAUSE = 600.0
"""The least number of seconds between two full collections."""


def pause() -> None:
    """Turns the collector off while a daemon starts: imports create almost no garbage."""
    gc.disable()


def seldom() -> None:
    """Excludes all present objects from collection; new ones are collected seldom."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(YOUNG, 50, 100)


class LargeSubmissions:
    """Excludes the objects of large submissions from collection.

    They are all alive and are freed by reference counts. But garbage that exists at that time,
    such as a closed connection, would be excluded forever too. So there is a full collection
    from time to time, when it does not take long.
    """

    def __init__(self) -> None:
        self._growing = False
        self.spared = False  # whether objects were excluded since the last full collection
        self._due = -inf

    def after_turn(self, now: float, *, growing: bool, nodes: int) -> None:
        """Called after each turn that grows, and after all others while objects are spared.

        `growing` says whether a submission was read only in part.
        """
        if growing or self._growing:
            gc.freeze()  # takes constant time
            self._growing, self.spared = growing, True
        elif self.spared and nodes <= FEW and now >= self._due:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self.spared, self._due = False, now + PAUSE
