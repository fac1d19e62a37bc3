"""Notices `importlib.reload`: functions have new code then, however they reach the module.

A finder in `sys.meta_path` is asked for each import that loads something, and told which module is
loaded again. It finds nothing itself. Without it every call would have to look at all modules.
"""

import sys
from collections.abc import Sequence
from types import ModuleType


class _Reloads:
    """A finder that only counts."""

    def __init__(self) -> None:
        self.count = 0

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Asked by the import system; there is a target when that is loaded again."""
        if target is not None:
            self.count += 1


_reloads = _Reloads()


def reload_count() -> int:
    """How many reloads there were since `watch_reloads`."""
    return _reloads.count


def watch_reloads() -> None:
    """Begins to count."""
    if _reloads not in sys.meta_path:
        sys.meta_path.insert(0, _reloads)
