"""What the tables of "From Mars", "From Ray" and "From Snakemake" tell to write is run."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
COMMANDS = {"rain start", "rain server", "rain governor"}
WORDS = {"if", "for"}


@pytest.mark.parametrize("name", ["from-mars", "from-ray", "from-snakemake"])
def test_every_line_of_the_table_is_run(name: str) -> None:
    text = (GUIDE / f"{name}.md").read_text(encoding="utf-8")
    programs = "\n".join(BLOCK.findall(text))  # tests/docs/test_guide.py runs them
    rows = [line.rsplit(" | ", 1)[1] for line in text.splitlines() if line.startswith("| `")]
    told = [code for row in rows for code in CODE.findall(row.replace("\\|", "|"))]

    missing = [code for code in told if code not in programs and code not in COMMANDS | WORDS]

    assert len(rows) > 15
    assert not missing
