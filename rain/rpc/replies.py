"""The replies that the handlers of the server give, now or later, to the calls of a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from rain.base.failures import SessionFailure
from rain.rpc.codec.answers import write_refusal
from rain.rpc.interface import Fields
from rain.rpc.offered import IncomingCall

T = TypeVar("T")


class CallReply(Generic[T]):
    """Fulfils `rain.rpc.handlers.Reply` for one call; a refusal is a field of its results."""

    def __init__(self, call: IncomingCall, write: Callable[[T], Fields]) -> None:
        self._call = call
        self._write = write

    def answer(self, value: T, /) -> None:
        self._call.answer(self._write(value))

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._call.answer({"refusal": write_refusal(reason)})
