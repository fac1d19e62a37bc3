"""Draws the measurements.

matplotlib is part of the extra `bench`; it is imported only for plots.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import click

from bench.results import Results


class _Axes(Protocol):
    def bar(
        self, x: Sequence[float], height: Sequence[float], width: float, *, label: str
    ) -> object: ...
    def set_xticks(self, ticks: Sequence[float], labels: Sequence[str]) -> object: ...
    def plot(self, x: Sequence[float], y: Sequence[float], style: str, *, label: str) -> object: ...
    def set_xlabel(self, label: str) -> object: ...
    def set_xscale(self, scale: str) -> object: ...
    def set_ylabel(self, label: str) -> object: ...
    def set_yscale(self, scale: str) -> object: ...
    def legend(self) -> object: ...


class _Figure(Protocol):
    def subplots(self) -> _Axes: ...
    def savefig(self, file: Path) -> object: ...


class _FigureModule(Protocol):
    def Figure(self, *, figsize: tuple[float, float], layout: str) -> _Figure: ...  # noqa: N802


def require_matplotlib() -> None:
    """Checks that matplotlib is installed, before anything is measured."""
    if find_spec("matplotlib") is None:
        raise click.ClickException("matplotlib is not installed: pip install '.[bench]'")


def heights(results: Results) -> dict[str, list[float]]:
    """Milliseconds per task, by system, in the order of the quantities; 0 if missing."""
    found: dict[str, list[float]] = {}
    for system in results.systems:
        summaries = [(one, results.summary(system, one)) for one in results.quantities]
        found[system] = [
            summary.median / one.tasks * 1000 if summary else 0.0 for one, summary in summaries
        ]
    return found


def new_axes(size: tuple[float, float] = (8, 4.5)) -> tuple[_Figure, _Axes]:
    """An empty picture with one pair of axes."""
    module = cast("_FigureModule", import_module("matplotlib.figure"))
    figure = module.Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def draw_bars(results: Results, file: Path) -> None:
    """Draws one group of bars for each quantity; the file's suffix selects the format."""
    figure, axes = new_axes()
    width = 0.8 / len(results.systems)
    for number, (system, values) in enumerate(heights(results).items()):
        places = [i + number * width for i in range(len(values))]
        axes.bar(places, values, width, label=system)
    middle = width * (len(results.systems) - 1) / 2
    names = [one.name.replace(", ", "\n") for one in results.quantities]
    axes.set_xticks([i + middle for i in range(len(names))], names)
    axes.set_ylabel("milliseconds a task")
    axes.set_yscale("log")
    axes.legend()
    figure.savefig(file)


def draw_lines(
    lines: dict[str, list[tuple[float, float]]],
    *,
    file: Path,
    across: str,
    upwards: str,
) -> None:
    """Draws one line for each name over a logarithmic axis."""
    figure, axes = new_axes()
    for name, points in lines.items():
        axes.plot([x for x, _ in points], [y for _, y in points], "o-", label=name)
    axes.set_xscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.legend()
    figure.savefig(file)
