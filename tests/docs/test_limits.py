"""The page of limits has the values of the code."""

import importlib
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
PAGE = (PROJECT / "docs" / "guide" / "limits.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \|.*\| `([A-Z_]+)` in `([\w/]+\.py)` \|$", re.MULTILINE)
NAMED = sorted(set(ROW.findall(PAGE)))
UNITS = {"": 1, "s": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "Mi": 1024**2}
AMOUNT = re.compile(r"([\d,]+)(?: (s|KiB|MiB|GiB|Mi)\b)?")


def constant(file: str, name: str) -> object:
    """The value of a constant; `client` and `governor` are imported below `rain`."""
    path = file.removesuffix(".py").removeprefix("rain/")
    return getattr(importlib.import_module(f"rain.{path.replace('/', '.')}"), name)


def test_the_page_names_many_constants() -> None:
    assert len(NAMED) >= 20


@pytest.mark.parametrize(("value", "name", "file"), NAMED)
def test_a_value_of_the_page_is_that_of_the_code(value: str, name: str, file: str) -> None:
    amounts = [float(n.replace(",", "")) * UNITS[unit] for n, unit in AMOUNT.findall(value)]

    assert constant(file, name) in amounts


def test_every_option_of_the_page_is_one_of_its_command() -> None:
    for command, option in set(re.findall(r"`rain (server|governor) --([\w-]+)", PAGE)):
        text = "".join(
            (PROJECT / "rain" / "cli" / f"{part}.py").read_text(encoding="utf-8")
            for part in (f"{command}_command", "options")
        )
        assert f"--{option}" in text, f"rain {command} has no --{option}"
