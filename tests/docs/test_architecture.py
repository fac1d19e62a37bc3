"""The table of the folders says what each of them imports."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w/.]+)` \|.*\| ([\w ,/`]*?) ?\|$", re.MULTILINE)
ROWS: dict[str, str] = dict(ROW.findall(TEXT.partition("## A turn of the server")[0]))
FOLDERS = {folder.rpartition("/")[2]: folder for folder in ROWS if not folder.endswith("/core")}
LISTS = {
    folder: {FOLDERS[word] for word in said.split(", ")}
    for folder, said in ROWS.items()
    if said and set(said.split(", ")) <= FOLDERS.keys()
}
"""The folders whose rows name what they may import, one by one."""


@cache
def imported(folder: str) -> frozenset[str]:
    """The folders from which the modules of a folder import."""
    path = ROOT / folder
    return frozenset(
        folder_of(node.module)
        for file in ([path] if path.is_file() else path.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rain.")
    )


def folder_of(module: str) -> str:
    """The row of the innermost folder that a module is in."""
    words = module.split(".")
    for end in range(len(words), 0, -1):
        for start in (0, 1):
            if "/".join(words[start:end]) in ROWS:
                return "/".join(words[start:end])
    return module


def test_each_folder_imports_only_what_its_row_names() -> None:
    assert len(LISTS) > 12
    found = {folder: imported(folder) - {folder} - named for folder, named in LISTS.items()}
    assert not {folder: more for folder, more in found.items() if more}


def test_each_folder_that_a_row_names_is_imported() -> None:
    unused = {folder: named - imported(folder) for folder, named in LISTS.items()}
    assert not {folder: named for folder, named in unused.items() if named}
