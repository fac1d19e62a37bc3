"""Counts how often modules of this program have got new code, so that functions are sent again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from rain.client.brought.imports import loaded_files

_AUTORELOAD = "IPython.extensions.autoreload"
"""It is loaded by `%load_ext autoreload`."""


class Reloads:
    """Calls of `importlib.reload`, and cells that begin with changed files under autoreload.

    It is a finder in `sys.meta_path`, which is asked for each import and told which module is
    reloaded. It finds nothing itself. Autoreload only replaces the code inside of loaded modules,
    and tells nobody, before a cell runs. Without this count every call would have to look at all
    modules.
    """

    def __init__(self) -> None:
        self.count = 0
        self._files: frozenset[str] = frozenset()

    def watch(self) -> None:
        """Begins to count, if it has not begun yet."""
        if self in sys.meta_path:
            return
        sys.meta_path.insert(0, self)
        ipython = sys.modules.get("IPython")
        shell: Any = None if ipython is None else ipython.get_ipython()
        if shell is not None:
            self.cell_begins()
            shell.events.register("pre_run_cell", self.cell_begins)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Called by the import system; `target` is a module that is reloaded."""
        if target is not None:
            self.count += 1

    def cell_begins(self, *_: object) -> None:
        """Called by IPython, perhaps before autoreload looks at the same files."""
        before, self._files = self._files, loaded_files()
        if _AUTORELOAD in sys.modules and self._files != before:
            self.count += 1


reloads = Reloads()
