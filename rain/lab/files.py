"""Graph files on the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rain.lab.format import GraphFile, read_graph
from rain.lab.workload import LabError


def is_file(graph: str) -> bool:
    """Whether an argument names a file and not a graph family."""
    return graph.endswith(".json") or "/" in graph


def read_file(path: str) -> GraphFile:
    """Reads the graph of a file; errors begin with its path."""
    try:
        return read_graph(_parse(path), Path(path).stem)
    except LabError as error:
        raise LabError(f"{path}: {error}") from None


def _parse(path: str) -> object:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LabError("this is not a text file") from None
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        raise LabError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise LabError("it is nested too deeply") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses duplicate keys, of which JSON would silently drop one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise LabError(f"the key {twice!r} is in one table twice")
    return found


def write_json(path: Path, values: object) -> None:
    """Writes values as JSON."""
    write_text(path, json.dumps(values, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a whole file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}") from error
