"""The page on reliability names a test for each fault, and there are these tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Fault by fault")[2].partition("|---|")[2].partition("\n\n")[0]
ROW = re.compile(r"^\| (F\d+)? *\|.*$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(TABLE))


def test_each_fault_has_its_row() -> None:
    found = [row[1] for row in rows() if row[1]]
    assert found == [f"F{number}" for number in range(1, 30)]


def test_each_row_names_tests() -> None:
    assert [row[0] for row in rows() if not NAMED.search(row[0])] == []


@pytest.mark.parametrize("named", sorted(set(NAMED.findall(PAGE))), ids="::".join)
def test_what_is_named_is_a_test(named: tuple[str, str]) -> None:
    path, name = named
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(def|class) {name}\b", text, re.MULTILINE)
