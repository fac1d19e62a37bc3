"""The work that a governor which drains has left before it may leave."""

from __future__ import annotations

from collections import deque

from attrs import Factory, define

from rain.graph import DataObject

OVER = "it has drained"
"""Why such a governor has left in the end."""


@define(eq=False)
class Drain:
    """The objects of one governor, of which it may have the only copies."""

    unseen: deque[DataObject] = Factory(deque)
    moving: dict[DataObject, None] = Factory(dict)  # others were told to fetch these
