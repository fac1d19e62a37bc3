"""The pages of decisions have one form, and the index names each of them once."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "docs" / "decisions"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")
STATUS = re.compile(r"^Status: (in force|replaced by \[[^]]+\]\([^)]+\))[.,;]", re.MULTILINE)
ENTRY = re.compile(r"^\* \[[^]]+\]\(([^)]+)\): \S", re.MULTILINE)


def lacks(text: str) -> list[str]:
    """What a page of a decision must say and this one does not."""
    wrong = [] if STATUS.search(text) else ["a status"]
    return wrong + [part for part in ("**What would change it.**",) if part not in text]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_decision_says_whether_it_is_in_force_and_what_would_change_it(page: Path) -> None:
    assert lacks(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_decision_is_named_by_its_subject_and_not_by_a_number(page: Path) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", page.stem)


def test_the_index_has_one_line_for_each_decision() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")

    assert sorted(ENTRY.findall(index)) == [page.name for page in PAGES]


def test_a_page_without_a_status_is_found() -> None:
    would_change = "**What would change it.** Nothing.\n"

    assert lacks(f"# Turns\n\n{would_change}") == ["a status"]
    assert lacks(f"# Turns\n\nStatus: replaced by [the wire](the-wire.md).\n\n{would_change}") == []
