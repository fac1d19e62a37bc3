"""The reply of one call: a handler answers it now or later, and a coroutine waits for that."""

import asyncio
from typing import Generic, TypeVar

from rain.base.errors import InvariantError
from rain.base.wire import SessionFailure

T = TypeVar("T")


class Refused(Exception):  # an answer as good as any other, not an error of anybody
    """The handler refused the call."""

    def __init__(self, reason: str | SessionFailure) -> None:
        super().__init__()
        self.reason = reason


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
