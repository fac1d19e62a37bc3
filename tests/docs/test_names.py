"""Files that the pages for developers name are there, and so are pages that the code names."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
DOCS = PROJECT / "docs"
PAGES = sorted(
    page
    for page in [*DOCS.glob("*.md"), *(DOCS / "decisions").glob("*.md")]
    if page.name != "changelog.md"
)
SOURCES = sorted(
    path
    for folder in ("rain", "client", "governor", "bench", "tests")
    for path in (PROJECT / folder).rglob("*.py")
)
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:py|capnp))(?:::\w+)?`")
NAMED_FOLDER = re.compile(r"`((?:rain|client|governor|bench|tests|examples|docs|capnp)/[\w/]+)`")
NAMED_PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")
BELOW = ("", "rain", "rain/server", "rain/scheduler")
"""Where a path may begin: pages about one part of the code leave out what all names have."""
NAMES = {path.name for path in [*SOURCES, *DOCS.glob("*.py"), *(PROJECT / "capnp").iterdir()]}
"""A bare name may be that of a file anywhere."""
OTHERS = {"rain/1", "rain/key"}  # the first bytes of a connection; a file of each user


def is_there(name: str) -> bool:
    if "/" in name:
        return any((PROJECT / below / name).exists() for below in BELOW)
    return name in NAMES


def missing(text: str) -> list[str]:
    """What is named in a text and is not there."""
    named = [*NAMED_FILE.findall(text), *NAMED_FOLDER.findall(text)]
    return [name for name in named if name not in OTHERS and not is_there(name)]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_every_page_that_the_code_names_is_there() -> None:
    named = {
        (str(source.relative_to(PROJECT)), page)
        for source in SOURCES
        for page in NAMED_PAGE.findall(source.read_text(encoding="utf-8"))
    }

    assert len(named) > 10
    assert [pair for pair in sorted(named) if not (PROJECT / pair[1]).exists()] == []


def test_a_file_that_is_not_there_is_found() -> None:
    text = "`reactor.py` `gone.py` `rain/graph/gone.py` `rain/graph` `toolbox/fit.py` `rain/gone`"

    assert missing(text) == [
        "gone.py",
        "rain/graph/gone.py",
        "rain/gone",
    ]
