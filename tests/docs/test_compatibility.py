"""The page about Rain 0.4 is held to its word: every test that it names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))
GAPS = 22


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_is_there(file: str, name: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")

    assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE)


def test_every_gap_has_a_row_that_names_a_test() -> None:
    rows = re.findall(r"^\| (\d+) \|.*$", PAGE, re.MULTILINE)
    shown = re.findall(r"^\| (\d+) \|.*`tests/[\w/]+\.py::test_\w+` \|$", PAGE, re.MULTILINE)

    assert rows == [str(number) for number in range(1, GAPS + 1)]
    assert shown == rows


def test_nothing_that_looks_like_a_test_is_misspelt() -> None:
    assert PAGE.count("::test_") == len(re.findall(r"`tests/[\w/]+\.py::test_\w+`", PAGE))
