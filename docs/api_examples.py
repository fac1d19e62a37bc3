"""An extension of griffe, which reads docstrings for the API pages: their examples become code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.doctests import as_code  # the folder is no installed package


class ApiExamples(griffe.Extension):
    """Called for each module, class, function and attribute that is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_code(obj.docstring.value)
