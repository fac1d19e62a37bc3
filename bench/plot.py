"""Draws the overhead of a task: one group of bars for each shape.

matplotlib comes with the extra `bench`; it is imported only when a plot is asked for.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import click

from bench.results import Results
from bench.summary import summarize


class _Axes(Protocol):
    def bar(
        self, x: Sequence[float], height: Sequence[float], width: float, *, label: str
    ) -> object: ...
    def set_xticks(self, ticks: Sequence[float], labels: Sequence[str]) -> object: ...
    def set_ylabel(self, label: str) -> object: ...
    def set_yscale(self, scale: str) -> object: ...
    def legend(self) -> object: ...


class _Figure(Protocol):
    def subplots(self) -> _Axes: ...
    def savefig(self, file: Path) -> object: ...


class _FigureModule(Protocol):
    def Figure(self, *, figsize: tuple[float, float], layout: str) -> _Figure: ...  # noqa: N802


def heights(results: Results) -> dict[str, list[float]]:
    """Milliseconds a task, by system and in the order of the shapes."""
    return {
        system: [
            summarize(results.of(system, shape)).median / shape.task_count * 1000
            for shape in results.shapes
        ]
        for system in results.systems
    }


def require_matplotlib() -> None:
    """Say what to install, before anything is measured in vain."""
    if find_spec("matplotlib") is None:
        raise click.ClickException("matplotlib is not installed: pip install '.[bench]'")


def draw(results: Results, file: Path) -> None:
    """Write the plot; the file's ending says in which format."""
    module = cast("_FigureModule", import_module("matplotlib.figure"))
    figure = module.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(results.systems)
    for number, (system, values) in enumerate(heights(results).items()):
        places = [i + number * width for i in range(len(values))]
        axes.bar(places, values, width, label=system)
    middle = width * (len(results.systems) - 1) / 2
    axes.set_xticks(
        [i + middle for i in range(len(results.shapes))], [shape.name for shape in results.shapes]
    )
    axes.set_ylabel("milliseconds a task")
    axes.set_yscale("log")
    axes.legend()
    figure.savefig(file)
