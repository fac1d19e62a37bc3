"""Where this program has its packages: processes that it starts find the same, in any folder."""

from __future__ import annotations

import os
from pathlib import Path

import rain

PACKAGES = str(Path(rain.__file__).resolve().parent.parent)


def python_path(known: str | None) -> str:
    """A `PYTHONPATH` for such a process, which begins with these; `known` is that of its parent."""
    return f"{PACKAGES}{os.pathsep}{known}" if known else PACKAGES
