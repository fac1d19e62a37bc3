"""Carries how a program calculates to its tasks: the context of `decimal`, and what numpy does at
errors. Without these a task would return other numbers than the same call in the program.
"""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

_PLAIN_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}

# In the order in which `decimal.Context` takes them.
_fields_of = attrgetter("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


class DecimalSettings(NamedTuple):
    """A context of `decimal`, without the signals that it has seen."""

    fields: tuple[Any, ...]
    traps: tuple[str, ...]  # the names of the signals that raise


class NumberSettings(NamedTuple):
    """How the calling thread of a program calculates; None for what is as Python begins."""

    decimal: DecimalSettings | None = None
    numpy_errors: tuple[tuple[str, str], ...] | None = None  # see `numpy.seterr`


def number_settings() -> NumberSettings | None:
    """The settings of the calling thread; None if it has set nothing."""
    decimal, numpy = _decimal_settings(), _numpy_errors()
    return None if decimal is None and numpy is None else NumberSettings(decimal, numpy)


def _decimal_settings() -> DecimalSettings | None:
    decimal: Any = sys.modules.get("decimal")
    if decimal is None:
        return None
    now, plain = decimal.getcontext(), _plain_context(decimal)
    if now.traps == plain.traps and _fields_of(now) == _fields_of(plain):
        return None
    traps = tuple([signal.__name__ for signal, raises in now.traps.items() if raises])
    return DecimalSettings(_fields_of(now), traps)


def from_fields(told: Any) -> NumberSettings | None:
    """Settings whose fields have become lists on their way."""
    if told is None:
        return None
    context, errors = told
    return NumberSettings(
        None if context is None else DecimalSettings(tuple(context[0]), tuple(context[1])),
        None if errors is None else tuple((name, does) for name, does in errors),
    )


def _numpy_errors() -> tuple[tuple[str, str], ...] | None:
    numpy: Any = sys.modules.get("numpy")
    if not hasattr(numpy, "geterr"):  # it is not loaded, or not completely
        return None
    now: dict[str, str] = numpy.geterr()
    if now == _PLAIN_ERRORS or "call" in now.values() or "log" in now.values():  # objects of it
        return None
    return tuple(now.items())


def _plain_context(decimal: Any) -> Any:
    """The context with which each program begins, whatever it does to `DefaultContext`."""
    global _plain  # noqa: PLW0603 # one for the process, as `decimal` loads late
    if _plain is None:
        raised = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
        _plain = decimal.Context(28, decimal.ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], raised)
    return _plain


_plain: Any = None


def apply(settings: NumberSettings | None) -> None:
    """Lets the calling thread calculate with these settings; None: as Python begins."""
    before, settings = number_settings() or NumberSettings(), settings or NumberSettings()
    if settings.decimal != before.decimal:
        _apply_decimal(settings.decimal)
    if settings.numpy_errors != before.numpy_errors:
        import numpy as np  # noqa: PLC0415 # few programs set this

        np.seterr(**dict(settings.numpy_errors or _PLAIN_ERRORS))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # numpy has checked them in the program


def _apply_decimal(told: DecimalSettings | None) -> None:
    decimal: Any = import_module("decimal")  # few programs set this
    if told is None:
        decimal.setcontext(_plain_context(decimal).copy())
        return
    traps = [getattr(decimal, name) for name in told.traps]
    decimal.setcontext(decimal.Context(*told.fields, [], traps))
