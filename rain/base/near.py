"""Where files outside of the store are near: a wish of the tasks that read them, and no rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from attrs import frozen

_PLACE = re.compile(r"[\w.:\[\]-]+")  # as in addresses and in names of resources


@frozen
class Near:
    """Bytes that a task reads from outside of the store, and the places that are near to them.

    A place is a governor ("host:port"), a host, or the name of a resource: all governors that offer
    it are near.
    """

    places: tuple[str, ...]
    size: int


def checked_places(given: object) -> tuple[str, ...]:
    """The places that a user names, one or several; raises a one-line ValueError if it is none."""
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Iterable) and not isinstance(given, Mapping):
        names = tuple(cast("Iterable[object]", given))
        places = tuple(one for one in names if isinstance(one, str) and _PLACE.fullmatch(one))
        if places and len(places) == len(names):
            return places
    raise ValueError(
        f"near: {given!r} names no place; write a governor as host:port, a host, or a resource that"
        " the governors there offer, or a list of these"
    )
