"""Calls as programs write them that use joblib."""

from __future__ import annotations

from importlib import import_module
from typing import Any

joblib: Any = import_module("joblib")  # which is not annotated


def parallel(calls: Any, **options: Any) -> Any:
    return joblib.Parallel(**options)(calls)


def call(fn: Any, *args: Any) -> Any:
    return joblib.delayed(fn)(*args)
