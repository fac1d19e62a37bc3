"""Lists functions of numpy and Dask whose run time depends only on the bytes that they read and
make.

They work element by element, add up, make arrays, or move parts of them. Other functions may take
any time: matrix products, decompositions, functions that read files, and functions of users.
"""

from __future__ import annotations

import builtins
import sys
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

_Curry: Any = import_module("toolz").curry
_Compose: Any = import_module("toolz").functoolz.Compose


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BUILTINS = _names("abs bool complex dict float int len list max min round set slice sum tuple")

_NUMPY = _names("""
    all amax amin any arange argmax argmin around broadcast_to clip concatenate conjugate copy
    count_nonzero cumprod cumsum diag diagonal empty empty_like expand_dims eye flip full full_like
    hstack imag isclose linspace max mean min moveaxis nan_to_num nanargmax nanargmin nancumprod
    nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar ones ones_like outer prod ravel
    real reshape roll round squeeze stack std sum swapaxes take transpose tril triu var vstack where
    zeros zeros_like
""")

_MODULES = frozenset(["dask._task_spec", "dask.array.chunk", "dask.array.reductions"])
"""All of their functions are cheap; where one takes another function, that has to be cheap too."""

_OF_MODULES = {
    "_operator": _names("""
        abs add and_ eq floordiv ge getitem gt inv invert le lt mod mul ne neg not_ or_ pos pow sub
        truediv xor
    """),
    "dask.array.core": _names(
        "_concatenate2 _enforce_dtype concatenate3 concatenate_axes concatenate_shaped"
    ),
    "dask.array.random": _names("_apply_random _apply_random_func"),
    "dask.array.routines": _names("_block_hist _isin_kernel"),
    "dask.array.wrap": _names("_broadcast_trick_inner"),
    "dask.utils": _names("apply"),
}

_NUMPY_TYPES = (np.generic, np.random.BitGenerator, np.random.Generator, np.random.RandomState)


def parts_of(fn: Any) -> list[Any]:
    """The functions that a composed function combines; empty for a simple one."""
    if isinstance(fn, partial) or type(fn) is _Curry:
        return [fn.func, *fn.args, *fn.keywords.values()]
    if type(fn) is _Compose:
        return [fn.first, *fn.funcs]
    return []


def is_cheap(fn: Any) -> bool:
    """Whether a function is one of the cheap ones, and not another one of the same name."""
    if isinstance(fn, np.ufunc):
        ufunc: Any = fn
        return ufunc.signature is None and getattr(np, ufunc.__name__, None) is ufunc
    module: str = getattr(fn, "__module__", None) or ""
    name: str = getattr(fn, "__qualname__", "")
    if isinstance(fn, type) and issubclass(fn, _NUMPY_TYPES):
        return module.partition(".")[0] == "numpy"
    if module == "builtins":
        return name in _BUILTINS and getattr(builtins, name) is fn
    if module == "numpy":
        return name in _NUMPY and getattr(np, name, None) is fn
    if module not in _MODULES and name not in _OF_MODULES.get(module, ()):
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is fn or (type(found) is _Curry and found.func is fn)
