"""Reading a whole object in pieces, with a few pieces on their way at any time."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from rain.base.errors import RainError
from rain.base.wire import PIECE, PIECES_IN_FLIGHT

Piece: TypeAlias = tuple[int, bytes]
"""The length of the whole, and the bytes of one piece."""

Ask: TypeAlias = Callable[[int, int], Coroutine[Any, Any, Piece]]
"""Asks for the piece at an offset, of a size."""

Sink: TypeAlias = Callable[[int, bytes, int], object]
"""Takes the offset of a piece, the piece, and the length of the whole; in the pieces' order."""


class ChangedError(RainError):
    """The pieces of an object do not fit together."""


async def read_pieces(ask: Ask, sink: Sink) -> int:
    """Reads everything into the sink, which gets at least one piece; gives the length."""
    total, first = await ask(0, PIECE)
    _check(len(first), 0, total, total)
    sink(0, first, total)
    asked = got = len(first)
    under_way: deque[asyncio.Task[Piece]] = deque()
    try:
        while got < total:
            while asked < total and len(under_way) < PIECES_IN_FLIGHT:
                under_way.append(asyncio.create_task(ask(asked, PIECE)))
                asked += min(PIECE, total - asked)
            length, piece = await under_way[0]
            under_way.popleft()
            _check(len(piece), got, length, total)
            sink(got, piece, total)
            got += len(piece)
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
    return total


def _check(size: int, offset: int, length: int, total: int) -> None:
    if length != total or size != min(PIECE, total - offset):
        raise ChangedError(f"it changed while it was read, from {total} bytes to {length}")
