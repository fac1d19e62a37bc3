"""The garbage collector in a daemon: seldom, and not over what stays.

A graph of a million tasks is millions of objects that are all alive. Python's collector would walk
through them again and again while the graph grows, in vain: it cost a third of all time that the
server spent on a task. The server and the governor take their circles apart themselves when a
session ends, so hardly anything is left for the collector to find.
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
