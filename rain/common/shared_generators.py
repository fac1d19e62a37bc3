"""Methods of the random generator that a module has for its whole process, as `random.random` is.

They are sent by their names. With a copy of its generator, such a function would return the same
numbers in every process.
"""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, MethodType
from typing import Any

_GENERATORS = {"random": "_inst", "numpy.random.mtrand": "_rand"}
"""The modules, and the names of their generators."""


def place_of_method(value: object) -> tuple[str, str] | None:
    """The module and the name of such a method; None for anything else."""
    if not isinstance(value, MethodType | BuiltinFunctionType):
        return None
    for name, generator in _GENERATORS.items():
        module: Any = sys.modules.get(name)
        if module is not None and value.__self__ is getattr(module, generator, None):
            method = value.__name__
            return (name, method) if getattr(module, method, None) == value else None
    return None
