"""Questions about what users pass in, whose answers the type checkers understand."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from rain.common.labeled_list import LabeledList


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """A list or a tuple."""
    return isinstance(value, list | tuple)


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def is_labeled_list(value: object) -> TypeGuard[LabeledList[Any]]:
    return isinstance(value, LabeledList)
