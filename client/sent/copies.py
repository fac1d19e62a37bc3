"""Warns of arguments whose copies in tasks do something else than programs expect: random
generators that several calls get, and arrays that map a file for writing.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from typing import Any

from rain.client.explaining.warn import warn_user
from rain.common.random_generators import is_random_generator

OWN_GENERATORS = (
    "give each call a generator of its own, such as those of"
    " numpy.random.default_rng(seed).spawn(count)"
)
"""Advice for a user who gives several calls copies of one generator."""

_REMEMBERED = 8
"""Generators of earlier calls that are compared with those of a new one."""

Found = tuple[str, Any]
"""Such a value, with the name of the argument that has it."""


def is_writable_map(value: Any) -> bool:
    """Whether it is a `numpy.memmap`, and what is written to it reaches its file."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.memmap):
        return False
    from rain.common.mapped_files import WRITABLE  # noqa: PLC0415 # which loads numpy

    array: Any = value
    return array.mode in WRITABLE and array.filename is not None


def differs_as_copy(value: Any) -> bool:
    """Whether it is a random generator, or maps a file for writing."""
    return is_random_generator(value) or is_writable_map(value)


class CopyWarnings:
    """Warns the program of one session, once of each kind."""

    def __init__(self) -> None:
        self._generators: deque[object] = deque(maxlen=_REMEMBERED)
        self._has_told_of_generators = False
        self._has_told_of_maps = False

    def look_at(self, function: str, found: Iterable[Found]) -> None:
        """Warns, if need be, of these arguments of a call."""
        new: list[object] = []
        for label, value in found:
            if is_writable_map(value):
                self._tell_of_map(function, label, value)
            elif any(value is one for one in self._generators):
                self._tell_of_generator(function, label)
            else:
                new.append(value)
        self._generators.extend(new)

    def _tell_of_generator(self, function: str, label: str) -> None:
        if not self._has_told_of_generators:
            self._has_told_of_generators = True
            warn_user(
                f"argument {label} of {function} has a random generator that another call has got,"
                f" too, and each draws the same numbers from its copy: {OWN_GENERATORS}"
            )

    def _tell_of_map(self, function: str, label: str, value: Any) -> None:
        if not self._has_told_of_maps:
            self._has_told_of_maps = True
            warn_user(
                f"argument {label} of {function} is a numpy.memmap with mode={value.mode!r}, and"
                " the call gets a copy: what it writes there does not reach"
                f" {str(value.filename)!r}. Map the file in the function; or map it with mode='r',"
                " if calls only read it"
            )
