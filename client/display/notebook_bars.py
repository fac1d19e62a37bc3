"""Shows bars in the output of a notebook's cell.

rich shows them in a widget, which needs ipywidgets, is not in the saved notebook, and misses the
last change.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any, cast

from rich.live import Live
from rich.progress import Progress

EVERY = 0.25
"""Seconds between two looks at the bars."""


def in_notebook(bars: Progress) -> Progress:
    """Shows the bars by ipywidgets; returns them."""
    bars.live = cast("Live", NotebookBars(bars))
    return bars


class NotebookBars:
    """Has the methods of `rich.live.Live` that a `Progress` calls."""

    auto_refresh = True

    def __init__(self, bars: Progress) -> None:
        self.console = bars.console
        self.is_started = False
        self._bars = bars
        self._output: Any = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="rain-bars", daemon=True)

    def start(self, refresh: bool = False) -> None:
        """Shows the bars, and their changes from now on."""
        del refresh
        self.is_started = True
        self._output = import_module("IPython.display").display(self._bars, display_id=True)
        self._thread.start()

    def stop(self) -> None:
        """Shows how they were at the end."""
        self._ending.set()
        self._thread.join()
        self.refresh()
        self.is_started = False

    def refresh(self) -> None:
        """Shows how they are now."""
        self._output.update(self._bars)

    def _follow(self) -> None:
        while not self._ending.wait(EVERY):
            self.refresh()
