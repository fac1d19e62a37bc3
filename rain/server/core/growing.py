"""Reads a submission that is too large for one turn in parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

from attrs import Factory, define

from rain.base.wire.requests import Submit
from rain.graph import Task
from rain.server.core.messages import Asked, ClientEvent


@define(eq=False)
class Growing:
    """A submission that is read in parts, and the later requests of its client."""

    event: Asked
    submit: Submit
    parts: Generator[None, None, list[Task]]
    held: deque[ClientEvent] = Factory(deque)
    read: int = 0  # parts

    def read_part(self) -> list[Task] | None:
        """Reads one more part; after the last one, returns the linked tasks."""
        self.read += 1
        try:
            next(self.parts)
        except StopIteration as end:
            tasks: list[Task] = end.value
            return tasks
        return None
