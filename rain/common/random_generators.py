"""Random generators, of which a copy in another process returns the same numbers.

So methods of the generator that a module has for its whole process, such as `random.random`, are
sent by their names.
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


def is_random_generator(value: object) -> bool:
    """Whether it is a generator of Python or of numpy."""
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if python is not None and isinstance(value, python.Random):
        return True
    return numpy is not None and isinstance(value, (numpy.Generator, numpy.RandomState))
