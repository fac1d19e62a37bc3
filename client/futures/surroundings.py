"""Wrappers around functions, which an executor calls in place of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from rain.common.surroundings import ForEach, Initialized

Function = Callable[..., Any]


@frozen
class Surroundings:
    """With an initializer before it, for many arguments at once, or both."""

    executor: str
    initializer: Function | None = field(default=None, eq=False)
    initargs: tuple[Any, ...] = field(default=(), eq=False)
    in_chunks: bool = False

    @property
    def content_type(self) -> str:
        return "pickle"

    @property
    def changes_arguments(self) -> bool:
        return self.in_chunks

    def around(self, fn: Function) -> Function:
        if self.in_chunks:
            fn = ForEach(fn)
        if self.initializer is not None:
            fn = Initialized(self.executor, self.initializer, self.initargs, fn)
        return fn
