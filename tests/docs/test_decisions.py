"""The pages of decisions have one form, and the index names each of them once."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "docs" / "decisions"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")
SUMMARY = re.compile(r"\A# .+\n\n(?!Status:)[A-Z`*]")
STATUS = re.compile(r"^Status: (in force|replaced by \[[^]]+\]\([^)]+\))[.,;]", re.MULTILINE)
ENTRY = re.compile(r"^\* \[([^]]+)\]\(([^)]+)\): \S", re.MULTILINE)
PARTS = ["Decided", "Why", "Figures", "Limits", "Tried and dropped", "What would change it"]
OPTIONAL = {"Figures", "Limits", "Tried and dropped"}
DAY = re.compile(r"\b\d{1,2} (Jan|Febr|March|April|May|June|July|Aug|Sept|Octo|Nov|Dec)[a-z]*\b")


def lacks(text: str) -> list[str]:
    """What a page of a decision must say and this one does not, and what has no place on it."""
    parts = re.findall(r"^## (.+)$", text, re.MULTILINE)
    wrong = [] if SUMMARY.match(text) else ["a title, and a sentence below it"]
    wrong += [] if STATUS.search(text) else ["a status"]
    wrong += [part for part in PARTS if part not in parts and part not in OPTIONAL]
    wrong += [f"no part {part!r}" for part in parts if part not in PARTS]
    wrong += (
        [] if parts == [part for part in PARTS if part in parts] else ["the order of its parts"]
    )
    return wrong + [f"no day ({found[0]}): a page is no diary" for found in DAY.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_decision_has_a_summary_a_status_and_its_parts_in_order(page: Path) -> None:
    assert lacks(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_decision_is_named_by_its_subject_and_not_by_a_number(page: Path) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", page.stem)


def test_the_index_has_one_line_for_each_decision_with_its_title() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    titles = {page.name: page.read_text(encoding="utf-8").partition("\n")[0] for page in PAGES}

    assert sorted(ENTRY.findall(index), key=lambda entry: entry[1]) == [
        (titles[page.name].removeprefix("# "), page.name) for page in PAGES
    ]


def test_what_a_page_lacks_is_found() -> None:
    parts = "## Decided\n\nOne.\n\n## Why\n\nIt is.\n\n## What would change it\n\nNothing.\n"
    replaced = "Status: replaced by [the wire](the-wire.md).\n\n"

    assert lacks(f"# Turns\n\nShort turns.\n\n{parts}") == ["a status"]
    assert lacks(f"# Turns\n\nShort turns.\n\n{replaced}{parts}") == []
    assert lacks(f"# Turns\n\nShort turns.\n\n{replaced}{parts}## Why\n") == [
        "the order of its parts"
    ]
    assert lacks(f"# Turns\n\n{replaced}{parts}On 26 November.\n") == [
        "a title, and a sentence below it",
        "no day (26 November): a page is no diary",
    ]
