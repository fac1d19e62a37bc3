"""Progress bars in terminals and notebooks: where they are drawn, and how they look."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TextIO

from rich.console import Console
from rich.file_proxy import FileProxy
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from rain.base.sizes import spell_size


def new_console() -> Console:
    """A console on stderr: stdout is for the output of the program, and may be a file."""
    return Console(stderr=True)


def is_seen(console: Console) -> bool:
    """Whether somebody may see a bar there."""
    return console.is_terminal or console.is_jupyter


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal."""
    return stream is not None and stream.isatty()


class BytesColumn(ProgressColumn):
    """How much has moved, and how fast: "312MiB of 1GiB, 104MiB/s"."""

    def render(self, task: Task) -> Text:
        """The text of one bar."""
        text = f"{spell_size(int(task.completed))} of {spell_size(int(task.total or 0))}"
        if task.speed:
            text += f", {spell_size(int(task.speed))}/s"
        return Text(text)


def transfer_bars(console: Console | None = None) -> Progress | None:
    """Bars that go when they are full; None where nobody sees them, or others are shown.

    The user has not asked for these bars, so they leave stdout and stderr alone and never replace
    other bars.
    """
    console = console or new_console()
    if not is_seen(console) or console.is_dumb_terminal or _others_are_shown():
        return None
    if console.is_jupyter and find_spec("ipywidgets") is None:
        return None  # rich would warn
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        BytesColumn(),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bars.start()
    return bars


def _others_are_shown() -> bool:
    """Whether rich or tqdm shows bars of the program, or `Client.progress` does."""
    if isinstance(sys.stdout, FileProxy) or isinstance(sys.stderr, FileProxy):
        return True
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    return bool(getattr(tqdm, "_instances", ()))
