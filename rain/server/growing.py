"""Submissions that are too large for one turn: what has come of them so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

from attrs import Factory, define

from rain.graph import Task
from rain.server.messages import ClientEvent, Submitted


@define(eq=False)
class Growing:
    """A submission that is read part by part, and what its client has asked after it."""

    event: Submitted
    parts: Generator[None, None, list[Task]]
    held: deque[ClientEvent] = Factory(deque)

    def read_part(self) -> list[Task] | None:
        """Reads one more part; the linked tasks when that was the last one."""
        try:
            next(self.parts)
        except StopIteration as end:
            tasks: list[Task] = end.value
            return tasks
        return None
