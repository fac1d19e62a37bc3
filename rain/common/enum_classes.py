"""What cloudpickle leaves out of an enum that it sends by value.

These are its aliases, the combinations that a flag has names for, and the attributes that
`__init__` or `__new__` has given to the members.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from inspect import getattr_static
from typing import Any

import cloudpickle

_library: Any = cloudpickle.cloudpickle

_MEMBERS = 3
"""The place of the members among the arguments of the function with which it creates an enum."""

_OF_ALL_MEMBERS = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
"""The attributes that a member has from the enum itself."""


def with_members(cls: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """How cloudpickle reduces a class; if it is an enum, with all that its members are."""
    if not issubclass(cls, Enum):
        return reduced
    named = cls.__members__
    make, arguments, (attributes, slots), *rest, _ = reduced
    members = {name: member.value for name, member in named.items()}
    arguments = *arguments[:_MEMBERS], members, *arguments[_MEMBERS + 1 :]
    content = {name: value for name, value in attributes.items() if name not in named}
    own = {member.name: _own_attributes(member) for member in named.values()}
    return make, arguments, (content, slots, own), *rest, set_enum


def _own_attributes(member: Enum) -> dict[str, Any]:
    """Those that the enum has given to it; what is cached in it changes by reading."""
    return {
        name: value
        for name, value in vars(member).items()
        if name not in _OF_ALL_MEMBERS
        and not isinstance(getattr_static(type(member), name, None), cached_property)
    }


def set_enum(cls: type[Enum], state: tuple[dict[str, Any], Any, dict[str, dict[str, Any]]]) -> None:
    """Called by pickles: fills an enum, and its members."""
    content, slots, own = state
    _library._class_setstate(cls, (content, slots))
    for name, attributes in own.items():
        vars(cls.__members__[name]).update(attributes)
