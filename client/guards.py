"""Questions about what users pass in, whose answers the type checkers understand."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeGuard

from rain.common.labeled_list import LabeledList
from rain.common.utils import short_str


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """A list or a tuple."""
    return isinstance(value, list | tuple)


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def is_labeled_list(value: object) -> TypeGuard[LabeledList[Any]]:
    return isinstance(value, LabeledList)


def check_timeout(timeout: object) -> None:
    """Raises TypeError, in one line, if this is no number of seconds."""
    if timeout is not None and not isinstance(timeout, int | float | Real):
        others = (
            "" if isinstance(timeout, str) else ", and what is waited for in one list before it"
        )
        raise TypeError(
            f"timeout is {short_str(repr(timeout))}; it must be a number of seconds or None{others}"
        )
