"""The garbage collector in a daemon: seldom, and not over what stays.

A graph of a million tasks is millions of objects that are all alive. Python's collector would walk
through them again and again while the graph grows, in vain: it cost a third of all time that the
server spent on a task. The server and the governor take their circles apart themselves when a
session ends, so hardly anything is left for the collector to find: a connection that was closed.
"""

from __future__ import annotations

import gc

YOUNG = 100_000
"""New containers until the youngest are looked through; Python's own choice is 700."""

FEW = 20_000
"""With so many nodes and no more it takes a few hundredths of a second to look through all,"""

PAUSE = 600.0
"""which happens no more often than in so many seconds."""


def pause() -> None:
    """Not at all while a daemon starts: hardly anything of what it imports is garbage."""
    gc.disable()


def seldom() -> None:
    """What is there now is never looked at again, and the rest seldom."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(YOUNG, 50, 100)


class LargeSubmissions:
    """Spares the collector what large submissions bring. All of it is alive, and goes by itself.

    What is garbage meanwhile, such as a connection that was closed, would be spared with it for
    ever. So all is looked through now and then, when that does not take long.
    """

    def __init__(self) -> None:
        self._growing = False
        self._spared = False  # something was, since all was looked through
        self._due = float("-inf")

    def after_turn(self, now: float, *, growing: bool, nodes: int) -> None:
        """`growing` says whether more is to come of a submission of which a part was read."""
        if growing or self._growing:
            gc.freeze()  # which does not take longer when there is much
            self._growing, self._spared = growing, True
        elif self._spared and nodes <= FEW and now >= self._due:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self._spared, self._due = False, now + PAUSE
