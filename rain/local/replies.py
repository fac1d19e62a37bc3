"""Delivers the answers of the server to waiting threads and to callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from rain.base.errors import RainError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId
from rain.base.wire.answers import WaitAnswer
from rain.rpc.handlers import ConstantUploads, Reply

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


def refusal(reason: str | SessionFailure) -> RainError:
    """What a client is told of a request that was not granted."""
    return RefusedError(reason) if isinstance(reason, str) else SessionFailedError(reason)


class AwaitedAnswer(Generic[T]):
    """The answer that a method waits for."""

    def __init__(self) -> None:
        self.is_there = False
        self._value: Any = None
        self._refusal: RainError | None = None

    def answer(self, value: T, /) -> None:
        self._value, self.is_there = value, True

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._refusal, self.is_there = refusal(reason), True

    def take(self) -> T:
        """The answer, which has come; raises if the request was refused."""
        if self._refusal is not None:
            raise self._refusal
        value: T = self._value
        return value


class ForwardedAnswer(Generic[T_contra]):
    """An answer that a function is told when it comes."""

    def __init__(self, tell: Callable[[T_contra | Exception], object]) -> None:
        self._tell = tell

    def answer(self, value: T_contra, /) -> None:
        self._tell(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._tell(refusal(reason))


class ForSubmission:
    """The answer to a submission: what was uploaded for it is its session's, or is not wanted."""

    def __init__(
        self,
        inner: Reply[WaitAnswer | None],
        uploads: ConstantUploads,
        uploaded: Sequence[ObjectId],
    ) -> None:
        self._inner = inner
        self._uploads = uploads
        self._uploaded = uploaded

    def answer(self, value: WaitAnswer | None, /) -> None:
        self._uploads.accept(self._uploaded)
        self._inner.answer(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._uploads.discard(self._uploaded)
        self._inner.refuse(reason)
