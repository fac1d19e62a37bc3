"""Checks the words and the environment variables of a command, so that mistakes are found at once.

No shell is involved unless `shell=True` asks for one. Without one, the program would get `|` as an
argument, and might report something misleading, or nothing at all. In the same way, a data object
that was formatted into a string is only text.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from rain.common.errors import RainException

_OPERATOR = re.compile(r"[|&]{1,2}|\|&|(\d*|&)(>>?|<<?<?)(&\d)?|&>>?")
"""A word that has a meaning for a shell, and seldom for a program."""

_BEGINNING = re.compile(r"([|&]{1,2}|\d*>>?|<)\s")
"""How such a word begins when the rest of the line is in it, too."""

_ATTACHED = re.compile(r"(\d*|&)(>>?|<<?)\S+|\S*;")
"""In a line: redirections with their file, and the end of a command."""

_EXPANDED = re.compile(r"\$\{?[A-Za-z_]\w*|\$\(|`")
"""In a line, what a shell replaces: a variable, or what a command has printed."""

_VARIABLE = re.compile(r"(?!\$N[FR]$)\$\{?[A-Z_][A-Z0-9_]+\}?(/\S*)?")
"""A word that is a variable of the environment, and not one of awk."""

_HOME = re.compile(r"~\w*(/\S*)?")
"""A word that names a home."""

_PATTERN = re.compile(r"(?=\S*(/|\*[\w-]*\.\w))[\w./-]*\*[\w./*-]*")
"""In a line: a pattern of file names, and not one of a text."""

_CODE = re.compile(r"-\w*[ce]")
"""The words before a word that is a program itself: `sh -c`, `perl -e`."""

_LITERAL = re.compile(r"""'[^']*'|\\.""", re.DOTALL)
"""In a line: what a shell leaves as it is."""

_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
"""In a line: what is meant for the program, whatever it is."""

_FORMATTED = re.compile(
    r"<(?:DataObject|Task) \d+/\d+ (?:(?P<label>'[^']*') )?(?:blob|directory|type=[^<>\s]*)>"
    r"|<(?:Input|InputDir|Output|OutputDir) (?P<named>'[^']*'|None)>"
    r"|<File [^<>\s]+(?: \d+-\d*)?>"
)
"""The representations of data objects, tasks, inputs, outputs and files as texts."""


def split_line(line: str) -> list[str]:
    """The words of a command line, as a shell splits it."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise RainException(f"the command {line!r} cannot be split: {error}") from None


def split_args(what: str, args: str | Iterable[Any]) -> list[Any]:
    """The words of a command: a line is split, and paths become texts, as in `subprocess`."""
    if isinstance(args, str):
        return split_line(args)
    words = [str(word) if isinstance(word, PurePath) else word for word in args]
    for word in words:
        if isinstance(word, str) and "\0" in word:
            raise RainException(f"{what}: {word!r} has a null byte, which ends words of a command")
        if isinstance(word, int | float):
            raise TypeError(f"{what}: {word!r} is a number: write it as a text, {str(word)!r}")
    return words


def refuse_formatted(what: str, args: str | Iterable[Any]) -> None:
    """RainException when data was formatted into a command, as in an f-string."""
    texts = [args] if isinstance(args, str) else [arg for arg in args if isinstance(arg, str)]
    for text in texts:
        found = _FORMATTED.search(text)
        if found is not None:
            raise RainException(
                f"{what}: {found[0]} was formatted into the text {text!r}, where it is only its"
                f" name; give the words one by one: {_as_words(args)}"
            )


def _as_words(args: str | Iterable[Any]) -> str:
    """How the call is written with words."""
    words = args.split() if isinstance(args, str) else [arg for arg in args if isinstance(arg, str)]
    joined = _FORMATTED.sub(_variable, args if isinstance(args, str) else " ".join(words))
    shown = [word if _is_variable(word) else json.dumps(word) for word in joined.split()]
    return f"[{', '.join(word.strip('{}') for word in shown)}]"


def _variable(found: "re.Match[str]") -> str:
    label = (found["label"] or found["named"] or "").strip("'")
    return "{" + (label if label.isidentifier() and label != "None" else "data") + "}"


def _is_variable(word: str) -> bool:
    return word.startswith("{") and word.endswith("}") and word[1:-1].isidentifier()


def refuse_shell_words(what: str, args: str | Iterable[Any]) -> None:
    """Raises RainException if a command is meant for a shell; called if `shell` was not given."""
    found = _in_line(args) if isinstance(args, str) else _in_words(args)
    if found is not None:
        raise RainException(
            f"{what}: {found!r} has a meaning for a shell, but no shell runs this command; write"
            " shell=True for a shell, or shell=False if it is an argument of the program"
        )


def _in_line(line: str) -> str | None:
    words = _QUOTED.sub("x", line).split()
    meant = (
        word
        for before, word in pairwise(("", *words))
        if _OPERATOR.fullmatch(word)
        or _ATTACHED.fullmatch(word)
        or _HOME.fullmatch(word)
        or (_PATTERN.fullmatch(word) and not before.startswith("-"))  # as in find -name *.py
    )
    expanded = (word for word in _LITERAL.sub("x", line).split() if _EXPANDED.search(word))
    return next(meant, None) or next(expanded, None)


def _in_words(words: Iterable[Any]) -> str | None:
    for before, word in pairwise(("", *words)):
        if not isinstance(word, str):
            continue
        if _OPERATOR.fullmatch(word) or _BEGINNING.match(word) or _HOME.fullmatch(word):
            return word
        is_code = isinstance(before, str) and _CODE.fullmatch(before)
        if _VARIABLE.fullmatch(word) and not is_code:
            return word
    return None


def checked_variables(what: str, env: Mapping[str, str | None] | None) -> dict[str, str | None]:
    """Variables that are set or, with None, taken away."""
    if env is not None and not isinstance(env, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
        raise RainException(f"{what}: env is a table of variables or an Env, not {env!r}")
    given: dict[Any, Any] = dict(env or {})
    for name, value in given.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise RainException(f"{what}: env: {name!r} cannot be the name of a variable")
        if value is not None and (not isinstance(value, str) or "\0" in value):
            raise RainException(
                f"{what}: env: the value of {name!r} must be a text or None, not {value!r}"
            )
    return given
