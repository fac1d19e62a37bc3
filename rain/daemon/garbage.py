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


def pause() -> None:
    """Not at all while a daemon starts: hardly anything of what it imports is garbage."""
    gc.disable()


def seldom() -> None:
    """What is there now is never looked at again, and the rest seldom."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(YOUNG, 50, 100)


class Nursery:
    """Spares the collector what large submissions bring. All of it is alive, and goes by itself.

    What is garbage when one begins is thrown away before, since nobody would find it later.
    """

    def __init__(self) -> None:
        self._growing = False

    def after_turn(self, *, growing: bool) -> None:
        """`growing` says whether more is to come of a submission of which a part was read."""
        if growing and not self._growing:
            gc.collect(0)
        if growing or self._growing:
            gc.freeze()  # which does not take longer when there is much
        self._growing = growing
