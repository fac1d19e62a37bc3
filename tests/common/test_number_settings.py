"""How a program calculates is told, and taken over."""

from __future__ import annotations

import decimal
from collections.abc import Iterator

import msgpack
import numpy as np
import pytest

from rain.common.number_settings import NumberSettings, apply, from_fields, number_settings


@pytest.fixture(autouse=True)
def plain() -> Iterator[None]:
    with decimal.localcontext(decimal.Context()), np.errstate():
        apply(None)
        yield


def told_and_read() -> NumberSettings | None:
    """The settings, after they have travelled."""
    return from_fields(msgpack.unpackb(msgpack.packb(number_settings())))


def test_a_program_that_has_set_nothing_tells_nothing() -> None:
    decimal.getcontext().divide(decimal.Decimal(1), 3)  # sets flags, which are no settings
    assert number_settings() is None
    assert told_and_read() is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prec", 50),
        ("rounding", decimal.ROUND_DOWN),
        ("Emin", -9),
        ("Emax", 9),
        ("capitals", 0),
        ("clamp", 1),
    ],
)
def test_each_field_of_the_decimal_context_is_taken_over(name: str, value: object) -> None:
    setattr(decimal.getcontext(), name, value)
    told = told_and_read()
    apply(None)
    assert number_settings() is None
    apply(told)
    assert getattr(decimal.getcontext(), name) == value
    assert number_settings() == told


def test_signals_that_raise_are_taken_over() -> None:
    decimal.getcontext().traps[decimal.Inexact] = True
    decimal.getcontext().traps[decimal.DivisionByZero] = False
    told = told_and_read()
    apply(None)
    apply(told)
    with pytest.raises(decimal.Inexact):
        decimal.Decimal(1).__truediv__(3)
    decimal.getcontext().traps[decimal.Inexact] = False
    assert decimal.Decimal(1) / 0 == decimal.Decimal("inf")


def test_what_numpy_does_at_errors_is_taken_over() -> None:
    np.seterr(divide="raise", under="print")
    told = told_and_read()
    apply(None)
    apply(told)
    with pytest.raises(FloatingPointError):
        np.divide(np.array([1.0]), 0)
    assert np.geterr()["under"] == "print"


def test_errors_that_go_to_an_object_of_the_program_are_not_told() -> None:
    def hear(kind: str, flag: int) -> None:
        raise AssertionError((kind, flag))

    with np.errstate(divide="call", call=hear):
        assert number_settings() is None
