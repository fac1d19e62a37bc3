"""Binds the arguments of a call to the parameters of a user's function. Pure.

A function that runs as a task gets the context of the task before the arguments of the call. If the
function has a parameter with the name of an option of calls (`OPTIONS`), the parameter wins.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rain.common.errors import RainException

OPTIONS = frozenset({"name", "output", "outputs", "session"})
"""Keywords of calls that describe the task."""

_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NO_WORDS: Mapping[str, Any] = {}


class Binding:
    """The parameters of one function, the first of which is the context."""

    def __init__(self, name: str, fn: Callable[..., Any]) -> None:
        self.name = name
        self.signature = inspect.signature(fn)
        parameters = list(self.signature.parameters.values())
        first = parameters[0] if parameters else None
        if first is None or first.kind not in {*_PLAIN, inspect.Parameter.VAR_POSITIONAL}:
            raise RainException(f"remote: {name} needs a first parameter for the context")
        self._first = first
        rest = parameters[1:]
        if not _may_be_context(first) and _takes_any_count([first, *rest]):
            raise RainException(
                f"remote: the first parameter of {name} gets the context of the task, and"
                f" {first.name!r} does not sound like it: write {self._with_context()}, or call"
                " it ctx if it is the context"
            )
        by_kind = {parameter.kind: parameter.name for parameter in parameters}
        self.var_positional = by_kind.get(inspect.Parameter.VAR_POSITIONAL)
        self.var_keyword = by_kind.get(inspect.Parameter.VAR_KEYWORD)
        plain = [parameter for parameter in rest if parameter.kind in _PLAIN]
        self.positions = [parameter.name for parameter in plain]
        self.required = sum(parameter.default is parameter.empty for parameter in plain)
        # Calls of other functions, and calls with keywords, are bound by Python's own rules.
        simple = by_kind.keys() <= {*_PLAIN, inspect.Parameter.VAR_KEYWORD}
        self.most = len(plain) if simple else -1
        own = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME}
        self._options = OPTIONS - own

    def parted(self, keywords: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The keywords of a call: those for the function, and those that describe its task.

        TypeError for one that could be either.
        """
        options = self._options & keywords.keys()
        if not options:
            return keywords, _NO_WORDS
        if self.var_keyword is not None:
            option = min(options)
            raise TypeError(
                f"{self.name}({option}=...) can mean the {option} of the task or one of"
                f" **{self.var_keyword}: give {self.name} a parameter {option!r} of its own,"
                " or say it with @remote(...), task.spec or an active session"
            )
        return (
            {key: value for key, value in keywords.items() if key not in options},
            {key: value for key, value in keywords.items() if key in options},
        )

    def bound(
        self, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments as Python itself binds them; TypeError where it would raise it."""
        try:
            bound = self.signature.bind(None, *args, **keywords)
        except TypeError as error:
            hint = "" if _may_be_context(self._first) else f"; write {self._with_context()}"
            raise TypeError(f"{self.name}(): {error}{hint}") from None
        return bound.args[1:], bound.kwargs

    def _with_context(self) -> str:
        parameters = [
            parameter.replace(annotation=parameter.empty)
            for parameter in self.signature.parameters.values()
        ]
        text = str(inspect.Signature(parameters))
        return f"def {self.name}(ctx, {text.removeprefix('(')}"


def _may_be_context(first: inspect.Parameter) -> bool:
    """Whether the name of the first parameter, or its annotation, is one for a context."""
    annotation = getattr(first.annotation, "__name__", first.annotation)
    said = f"{first.name} {annotation if isinstance(annotation, str) else ''}".lower()
    return (
        first.kind is inspect.Parameter.VAR_POSITIONAL
        or first.name.startswith("_")
        or "ctx" in said
        or "context" in said
    )


def _takes_any_count(parameters: list[inspect.Parameter]) -> bool:
    """Whether a call could succeed that has one argument too many, as without a context."""
    return any(
        parameter.kind is inspect.Parameter.VAR_POSITIONAL
        or (parameter.kind in _PLAIN and parameter.default is not parameter.empty)
        for parameter in parameters
    )
