"""Exceptions of a script that are values: arguments and results, or parts of them.

pickle makes an exception again with the arguments that it remembers. These are often others than
its `__init__` takes. So it is made without its `__init__`, whose work is in its attributes.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeGuard


def has_own_init(value: object) -> TypeGuard[BaseException]:
    """Whether it is an exception with an `__init__` in Python, and nothing else of its own."""
    if not isinstance(value, BaseException):
        return False
    kind = type(value)
    return (
        isinstance(kind.__init__, FunctionType)
        and kind.__new__ is _builtin(kind).__new__
        and kind.__reduce__ is BaseException.__reduce__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
    )


def reduced_exception(error: BaseException) -> tuple[Any, ...]:
    """How it is pickled."""
    return _made, (type(error), error.args), vars(error)


def _made(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    builtin = _builtin(kind)
    made = builtin.__new__(kind, *arguments)
    builtin.__init__(made, *arguments)
    return made


def _builtin(kind: type[BaseException]) -> type[BaseException]:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")
