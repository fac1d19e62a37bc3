"""Messages about unknown names of options, arguments and methods: they suggest what was meant."""

import inspect
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import wraps
from opcode import opmap
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, ParamSpec, TypeVar

from rain.client.explaining.other_systems import (
    GPUS,
    METHODS_OF_OTHERS,
    NAMES_OF_OTHERS,
    NEEDLESS,
    OPTIONS_OF_CLUSTERS,
    OPTIONS_OF_OTHER_CALLS,
    OPTIONS_OF_OTHER_CLIENTS,
    RETRIES,
)

P = ParamSpec("P")
T = TypeVar("T")

_IMPORT_FROM = opmap["IMPORT_FROM"]

ALIKE = 0.6
"""How similar two names must be, from 0 to 1, for one to be suggested for the other."""


class SaysWhatIsMeant:
    """A base class: access to a method that only other systems have raises an error that names
    ours.
    """

    methods_of_others: ClassVar[Mapping[str, str]] = METHODS_OF_OTHERS

    if not TYPE_CHECKING:  # type checkers see no such methods

        def __getattr__(self, name: str) -> NoReturn:
            here = self.methods_of_others.get(name)
            hint = f": write {here}" if here else ""
            kind = type(self).__name__
            raise AttributeError(
                f"{kind!r} object has no attribute {name!r}{hint}", name=name, obj=self
            )


def unknown_name(module: str, name: str, asking: FrameType) -> Exception:
    """The exception of a module that has no such name; `asking` is the frame that asks for it."""
    here = NAMES_OF_OTHERS.get(name)
    if here and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        # Of an AttributeError, an import statement would not show the message.
        return ImportError(f"cannot import name {name!r} from {module!r}: write {here}", name=name)
    hint = f": write {here}" if here else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def expect_known(where: str, given: Mapping[str, object], known: Collection[str]) -> None:
    """TypeError for the first of these options that is not known."""
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{where} has no option {name!r}{_hint(name, value, known)}")


def names_misspelled(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator: the error about a misspelled keyword suggests the one that was meant."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    where = function.__qualname__.removesuffix(".__init__").rpartition(".")[-1]

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        expect_known(where, kwargs, known)
        return function(*args, **kwargs)

    return called


def unknown_argument(
    keywords: Mapping[str, Any], parameters: Collection[str], options: Collection[str]
) -> str:
    """Advice about a keyword that a function does not take; "" for none."""
    for name, value in keywords.items():
        if name in parameters:
            continue
        meant = _nearest(name, parameters)
        if meant:
            return f"; did you mean {meant!r}?"
        option, why = _elsewhere(name, value, options)
        if not option and name in OPTIONS_OF_OTHER_CALLS:
            return f"; for client.options(...), write {OPTIONS_OF_OTHER_CALLS[name]}"
        if not option:
            nearest = name if name in options else _nearest(name, options)
            option = f"{nearest}={value!r:.40}" if nearest else ""
        if option:
            return f"; options are given before the call: client.options({option}).submit(...){why}"
    return ""


def _elsewhere(name: str, value: object, known: Collection[str]) -> tuple[str, str]:
    """What is written here for an option of Dask or Ray, and why; two times "" for others."""
    if name in RETRIES and "tries" in known and isinstance(value, int):
        return f"tries={value + 1}", ", as the first run counts, too"
    if name in GPUS and "resources" in known:
        return f'resources={{"gpus": {value!r:.40}}}', ""
    return "", ""


def _hint(name: str, value: object, known: Collection[str]) -> str:
    if name in NEEDLESS:
        return f": leave it out, since {NEEDLESS[name]}"
    option, why = _elsewhere(name, value, known)
    if option:
        return f": write {option}{why}"
    others = OPTIONS_OF_OTHER_CLIENTS if "governors" in known else OPTIONS_OF_OTHER_CALLS
    if name in others:
        return f": write {others[name]}"
    if "governors" in known and name in OPTIONS_OF_CLUSTERS:
        return f": write Cluster.local({name}=...).client(), with Cluster from rain.cluster"
    meant = _nearest(name, known)
    return f": did you mean {meant!r}?" if meant else f": it has {', '.join(known)}"


def _nearest(name: str, known: Collection[str]) -> str:
    found = get_close_matches(name, known, 1, ALIKE)
    return found[0] if found else ""
