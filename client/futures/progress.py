"""Shows a progress bar for each name of calls, in terminals and notebooks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from rain.client.display.bars import is_seen, is_terminal, new_console
from rain.client.display.notebook_bars import in_notebook
from rain.client.future import Future
from rain.client.futures.waiting import as_completed, each_of


def show_progress(
    futures: Future[Any] | Iterable[Future[Any]], console: Console | None = None
) -> None:
    """Waits until all are done, and shows how many are. Without a terminal or notebook it only
    waits.
    """
    chosen = each_of(futures)
    console = console or new_console()
    counts = Counter(future.name for future in chosen)
    failed: Counter[str] = Counter()
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not is_seen(console),
        # Else what others print meanwhile would go to stderr as well, and not into their file.
        redirect_stdout=is_terminal(sys.stdout),
    )
    with in_notebook(bars) if console.is_jupyter else bars:
        bar_of = {name: bars.add_task(name, total=count) for name, count in counts.items()}
        try:
            for future in as_completed(chosen):
                name = future.name
                if future.status != "finished":
                    failed[name] += 1
                    bars.update(bar_of[name], description=f"{name} ({failed[name]} failed)")
                bars.advance(bar_of[name])
        except KeyboardInterrupt:
            for future in chosen:
                future.cancel()
            raise
