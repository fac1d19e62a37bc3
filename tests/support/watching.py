"""One that looks at the transfers of a client."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from attrs import Factory, define

from rain.stream.sockets import Note
from rain.stream.watching import Direction


@define(eq=False)
class Watched:
    """What was told of one transfer."""

    direction: Direction
    length: int
    moved: list[int] = Factory(list)
    is_over: bool = False


@define(eq=False)
class Watching:
    """Keeps what it is told, in the order in which transfers have begun."""

    transfers: list[Watched] = Factory(list)

    @contextmanager
    def watching(self, direction: Direction, length: int) -> Generator[Note | None]:
        one = Watched(direction, length)
        self.transfers.append(one)
        try:
            yield one.moved.append
        finally:
            one.is_over = True
