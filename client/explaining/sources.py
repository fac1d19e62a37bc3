"""Shows the source lines of this program in tracebacks that come from executors.

A governor cannot read the lines of a notebook, nor those of a script on another machine. This
program can, so it adds the lines to a traceback that it receives.
"""

import linecache
import re
import sys
from typing import Any

_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)')


def with_sources(text: str) -> str:
    """The text of a traceback with its missing source lines, and with the numbers of notebook
    cells.
    """
    if '  File "' not in text:
        return text
    lines = text.split("\n")
    told: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        found = _FRAME.fullmatch(line)
        if found is None:
            told.append(line)
            continue
        file_name, number = found["file"], int(found["line"])
        cell = cell_of(file_name)
        told.append(f"  {cell}, line {number}, in {found['name']}" if cell else line)
        if not following.startswith("    "):
            source = linecache.getline(file_name, number).strip()
            told += [f"    {source}"] if source else []
    return "\n".join(told)


def cell_of(file_name: str) -> str:
    """The cell of a notebook that code stands in, as IPython knows it; else ""."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    named: Any = None if shell is None else shell.compile.format_code_name(file_name)
    return "" if named is None else " ".join(named)
