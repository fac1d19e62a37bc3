"""Functions with options of their own: the decorator `task` makes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from rain.client.captured import Wrapper
from rain.client.options import Options

P = ParamSpec("P")
T = TypeVar("T")


class TaskFunction(Wrapper, Generic[P, T]):
    """A function that can be called as ever, and says what its calls on the cluster need."""

    fn: Callable[P, T]

    def __init__(self, fn: Callable[P, T], options: Options) -> None:
        if not callable(fn):
            raise TypeError(f"task: {fn!r} cannot be called; options have names: @task(tries=3)")
        update_wrapper(self, fn)
        self.fn = fn
        self.options = options

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.fn(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskFunction, (self.fn, self.options)

    def __repr__(self) -> str:
        return f"<TaskFunction {getattr(self.fn, '__name__', self.fn)}>"
