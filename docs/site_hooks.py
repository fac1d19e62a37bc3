"""What the documentation site needs beside its pages.

This is a start page, a page of the examples and one of the commands, a list of the decisions, and
which methods the pages of the API leave out.

mkdocs calls these functions (see mkdocs.yml). Pages are written so that they can be read in a
checkout, where links may lead to files outside of docs/. On the site such a link becomes its text.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.command_page import command_page  # the folder is no installed package
from docs.inner_names import without_inner

DOCS = Path(__file__).parent
ENTRY = re.compile(r"^\* \[[^]]+\]\(([^)]+)\)", re.MULTILINE)
FOR_DEVELOPERS = ("changelog.md", "contributing.md", "decisions/")
"""Pages that a search shows after others: they mention everything, and others explain it."""
LINK = re.compile(r"(?<!!)\[([^][]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Adds every page of decisions/ to the navigation, by the subjects of their index."""
    groups: list[Any] = ["decisions/README.md"]
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    for group in index.split("\n## ")[1:]:
        subject, _, entries = group.partition("\n")
        groups.append({subject: [f"decisions/{page}" for page in ENTRY.findall(entries)]})
    config["nav"].append({"Decisions": groups})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Makes the start page of the README, a page of the examples, and one of the commands."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    text = text.replace("](docs/", "](").replace("](examples)", "](examples.md)")
    files.append(File.generated(config, "index.md", content=text))
    files.append(File.generated(config, "examples.md", content=_examples(DOCS.parent / "examples")))
    files.append(File.generated(config, "commands.md", content=command_page()))
    return files


def _examples(folder: Path) -> str:
    """What the README of the examples says, and the text of each program."""
    parts = [(folder / "README.md").read_text(encoding="utf-8")]
    for program in re.findall(r"\]\((\w+\.py)\)", parts[0]):
        text = (folder / program).read_text(encoding="utf-8")
        parts.append(f"## {program}\n\n```python\n{text}```\n")
    page = re.sub(r"\]\((\w+)\.py\)", r"](#\1py)", "\n".join(parts))
    return re.sub(r"\[([\w-]+)\]\([\w-]+\)", r"`\1`", page)  # a folder is no page


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turns links that lead to no page of the site into their text; see also `inner_names`."""
    folder = posixpath.dirname(page.file.src_uri)
    if page.file.src_uri.startswith(FOR_DEVELOPERS):
        page.meta.setdefault("search", {"boost": 0.3})

    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        if files.get_file_from_path(target) is not None:
            return link[0]
        path = DOCS / target
        outside = not path.resolve().is_relative_to(DOCS) and path.exists()
        at_home = page.file.src_uri == "index.md" and (DOCS.parent / target).exists()
        return link[1] if outside or at_home or path.is_dir() else link[0]

    return LINK.sub(replaced, without_inner(markdown))
