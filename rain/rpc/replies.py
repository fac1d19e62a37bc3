"""The replies that handlers give now or later.

For a call a coroutine waits until then; for a request in a plain message nobody has to.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rain.base.errors import InvariantError
from rain.base.failures import SessionFailure
from rain.rpc.codec.responses import write_refused
from rain.rpc.connection import Connection

T = TypeVar("T")
V = TypeVar("V")


class Refused(Exception):  # an answer as good as any other, not an error of anybody
    """The handler refused the call."""

    def __init__(self, reason: str | SessionFailure) -> None:
        super().__init__()
        self.reason = reason


class PlainReply(Generic[T]):
    """Fulfils `rain.rpc.handlers.Reply` for one request that came as a plain message."""

    def __init__(
        self,
        connection: Connection,
        number: int,
        write: Callable[[int, T], bytes],
        among: dict[int, Any] | None = None,  # the replies that are owed, by their numbers
    ) -> None:
        self._connection = connection
        self._number = number
        self._write = write
        self._among = among
        self.told = False  # the handler has answered or refused

    def answer(self, value: T, /) -> None:
        self._say(self._write, value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._say(write_refused, reason)

    def _say(self, write: Callable[[int, V], bytes], value: V) -> None:
        if self.told:
            raise InvariantError("a request was answered twice")
        self.told = True
        if self._among is not None:
            self._among.pop(self._number, None)
        if self._connection.is_open:
            self._connection.say(write(self._number, value))


class UnsentReply(Generic[T]):
    """Fulfils `rain.rpc.handlers.Reply` for one request whose answer nobody waits for."""

    def answer(self, value: T, /) -> None:
        """It is done, which changes nothing for anybody who could be told."""

    def refuse(self, reason: str | SessionFailure, /) -> None:
        """It was not to be done, which changes as little."""


class CallReply(Generic[T]):
    """Fulfils `rain.rpc.handlers.Reply` for one call that is being served."""

    def __init__(self) -> None:
        self._future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._told = False

    @property
    def told(self) -> bool:
        """Whether the handler has answered or refused."""
        return self._told

    def answer(self, value: T, /) -> None:
        self._tell_once()
        if not self._future.done():
            self._future.set_result(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._tell_once()
        if not self._future.done():
            self._future.set_exception(Refused(reason))

    def _tell_once(self) -> None:
        if self._told:
            raise InvariantError("a call was answered twice")
        self._told = True

    async def value(self) -> T:
        """What the handler answers; raises `Refused`. Cancelled when the caller has gone."""
        return await self._future
