"""Functions with options of their own: the decorator `task` makes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, Unpack, overload

from rain.client.brought.captured import Wrapper
from rain.client.options import Options, OptionWords, chosen

P = ParamSpec("P")
T = TypeVar("T")


_METHODS_OF_OTHERS = {
    "apply_async": "submit",
    "delay": "submit",
    "map": "map",
    "remote": "submit",
    "s": "submit",
    "submit": "submit",
}
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


@overload
def task(fn: Callable[P, T], /) -> TaskFunction[P, T]: ...
@overload
def task(**options: Unpack[OptionWords]) -> Callable[[Callable[P, T]], TaskFunction[P, T]]: ...
def task(fn: Callable[..., Any] | None = None, /, **options: Unpack[OptionWords]) -> Any:
    """A decorator that sets options, as `Client.options`, for all calls of a function by `submit`.

    `@task` without options changes nothing, and only marks a function that is meant to be
    submitted.

    Called directly, the function stays what it was.

    >>> from rain.client import Client, task
    >>> @task(tries=3)
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(2)
    4
    >>> with Client(cpus=1) as client:
    ...     client.submit(double, 3).result()
    6
    """
    needs = chosen("task", options)
    mark = partial(TaskFunction[..., Any], options=needs)
    return mark if fn is None else mark(fn)
