"""What is said of names of options and arguments that nobody knows: the nearest one that is."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

ALIKE = 0.6
"""How much of a name must be right, from 0 to 1, for the other one to be what was meant."""


def expect_known(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """TypeError for the first of these options that is not known."""
    for name in given:
        if name not in known:
            raise TypeError(f"{where} has no option {name!r}{_hint(name, known)}")


def unknown_argument(
    keywords: Mapping[str, Any], parameters: Collection[str], options: Collection[str]
) -> str:
    """What to do about a keyword that a function does not take; "" if nothing is known."""
    for name, value in keywords.items():
        if name in parameters:
            continue
        meant = _nearest(name, parameters)
        if meant:
            return f"; did you mean {meant!r}?"
        option = name if name in options else _nearest(name, options)
        if option:
            return (
                f"; options are given before the call:"
                f" client.options({option}={value!r:.40}).submit(...)"
            )
    return ""


def _hint(name: str, known: Collection[str]) -> str:
    meant = _nearest(name, known)
    return f": did you mean {meant!r}?" if meant else f": it has {', '.join(known)}"


def _nearest(name: str, known: Collection[str]) -> str:
    found = get_close_matches(name, known, 1, ALIKE)
    return found[0] if found else ""
