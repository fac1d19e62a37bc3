"""Private parts of other libraries: docs/decisions/dependencies.md names all that are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "decisions" / "dependencies.md"

OF_PYTHON = {"_getframe", "_current_frames"}
"""Functions of `sys` that are documented."""


@cache
def sources() -> dict[str, ast.Module]:
    """The modules of the package, by the path under which it is installed."""
    found = {path: path.relative_to(ROOT) for path in (ROOT / "rain").rglob("*.py")}
    for name in ("client", "governor"):
        found |= {path: "rain" / path.relative_to(ROOT) for path in (ROOT / name).rglob("*.py")}
    return {str(place): ast.parse(path.read_text("utf-8")) for path, place in found.items()}


def own_names(modules: dict[str, ast.Module]) -> set[str]:
    """All names that the package itself gives to something."""
    found: set[str] = set()
    for module in modules.values():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def foreign(module: ast.Module, own: set[str]) -> Iterator[str]:
    """The private names of others in one module: attributes, and imported modules."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if any(map(is_private, node.module.split("."))):
                yield node.module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if any(map(is_private, alias.name.split("."))):
                    yield alias.name


def named_on_the_page() -> set[tuple[str, str]]:
    rows = re.findall(
        r"^\| [^|]*\| (`[^|]+`) \| `([^|]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {(place, name) for names, place in rows for name in re.findall("`([^`]+)`", names)}


def test_every_private_part_of_a_library_that_is_used_is_on_the_page() -> None:
    modules = sources()
    own = own_names(modules)
    used = {(place, name) for place, module in modules.items() for name in foreign(module, own)}
    used = {(place, name) for place, name in used if name not in OF_PYTHON}
    assert ("rain/client/for_dask/specs.py", "dask._task_spec") in used
    assert used - named_on_the_page() == set()


def test_what_the_page_names_is_used_where_it_says() -> None:
    modules = sources()
    for place, name in named_on_the_page():
        assert name in ast.unparse(modules[place]), (place, name)
