"""Checks and reads the conda part of an environment (`Env(conda=...)`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Final

from rain.common.errors import RainException

_ENDINGS: Final = (".yml", ".yaml")


def conda_of(conda: str | PurePath | Mapping[str, Any] | None) -> tuple[str, str]:
    """The description of an environment that has to be made, or the name of one that exists."""
    if conda is None:
        return "", ""
    if isinstance(conda, Mapping):
        return _described(conda), ""
    said: Any = str(conda) if isinstance(conda, PurePath) else conda
    if isinstance(said, str) and said.endswith(_ENDINGS):
        return _read(Path(said)), ""
    return "", _named(said)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RainException(f"Env: {path} cannot be read: {error.strerror}") from None
    if not text.strip() or "\0" in text:
        raise RainException(f"Env: {path} is not a description of a conda environment")
    return text


def _described(conda: Mapping[str, Any]) -> str:
    if not conda.get("dependencies"):
        raise RainException("Env: a conda environment is described by {'dependencies': [...]}")
    try:
        return json.dumps(dict(conda))  # which is YAML, too
    except (TypeError, ValueError) as error:
        raise RainException(f"Env: conda={conda!r:.80} cannot be written: {error}") from None


def _named(name: Any) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        raise RainException(
            f"Env: conda is {name!r}; it is a path that ends in .yml, a table as of such a file,"
            " or the name or path of an environment that the machines have"
        )
    if "/" in name and not name.startswith("/"):
        raise RainException(f"Env: conda={name!r}: the path of an environment is absolute")
    return name
