"""Every relative link of the README and of the documentation leads somewhere, anchors included."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
PAGES = [
    PROJECT / "README.md",
    PROJECT / "bench" / "NOTES.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
]
CODE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def links(text: str) -> list[str]:
    """The relative links of a page; what only looks like one in code is none."""
    prose = INLINE_CODE.sub("", CODE.sub("", text))
    return [link for link in LINK.findall(prose) if not re.match(r"[a-z]+:", link)]


def anchors(text: str) -> set[str]:
    """The names of a page's headings, as GitHub and mkdocs make them."""
    found: set[str] = set()
    for heading in HEADING.findall(CODE.sub("", text)):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        name, number = slug, 0
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found.add(name)
    return found


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong: list[str] = []
    for link in links(text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            wrong.append(f"{link}: there is no such file")
        elif target.suffix == ".md" and anchor:
            known = anchors(target.read_text(encoding="utf-8"))
            wrong += [] if anchor in known else [f"{link}: there is no such heading"]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(PROJECT)) for page in PAGES])
def test_every_relative_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_link_to_a_missing_file_or_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# A head\n[a](#a-head) [b](#none) [c](none.md) `[d](no.md)` [e](https://x.y)\n"
    page.write_text(text, encoding="utf-8")

    assert [wrong.partition(":")[0] for wrong in broken(page, text)] == ["#none", "none.md"]
