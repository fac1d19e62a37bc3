"""Functions with options of their own: the decorator `task` makes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar

from rain.client.brought.captured import Wrapper
from rain.client.options import Options

P = ParamSpec("P")
T = TypeVar("T")


_METHODS_OF_OTHERS = {"delay": "submit", "map": "map", "remote": "submit", "submit": "submit"}
"""By which method of a client a function is called that others call by a method of its own."""


class TaskFunction(Wrapper, Generic[P, T]):
    """A function with options for its calls on the cluster. It can still be called directly."""

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

    if not TYPE_CHECKING:  # for type checkers it has no others at all

        def __getattr__(self, name: str) -> NoReturn:
            method = _METHODS_OF_OTHERS.get(name)
            hint = f": write client.{method}({self.__name__}, ...)" if method else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{hint}",
                name=name,
                obj=self,
            )
