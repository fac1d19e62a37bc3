"""The plots of the lab: Gantt charts and comparisons of schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from attrs import frozen

from rain.lab.league import LeagueResult, geometric_mean, ratios
from rain.lab.outcome import Outcome, Placement
from rain.lab.svg import FONT, INK, LETTER, Drawing, colours_of, ticks

WIDTH = 960
LEGEND = 10
"""The most task names with a colour of their own; all others share one."""


@frozen
class Chart:
    """One run to draw."""

    title: str
    outcome: Outcome
    names: list[str]  # of the tasks
    governors: int


def gantt(charts: Sequence[Chart]) -> str:
    """Draws a Gantt chart: a band per governor with a row per concurrent task."""
    drawing = Drawing(WIDTH)
    names = _by_time(charts)
    colours = colours_of(names[:LEGEND])
    if len(names) > LEGEND:
        colours["others"] = "#bbbbbb"
    end = max(chart.outcome.makespan for chart in charts)
    y = drawing.legend(20, 24, colours)
    for chart in charts:
        y = _one_gantt(drawing, chart, colours, end, y + 2 * FONT)
    return drawing.finish("Which tasks ran when on which governor")


def _by_time(charts: Sequence[Chart]) -> list[str]:
    """The task names, sorted by total time, the longest first."""
    spent: dict[str, float] = {}
    for chart in charts:
        for placed in chart.outcome.placements:
            name = chart.names[placed.task]
            spent[name] = spent.get(name, 0.0) + placed.end - placed.start
    return sorted(spent, key=lambda name: -spent[name])


def _one_gantt(
    drawing: Drawing, chart: Chart, colours: dict[str, str], end: float, y: float
) -> float:
    left, right = 60.0, WIDTH - 20.0
    scale = (right - left) / end if end else 0.0
    drawing.text(20, y, f"{chart.title}: {chart.outcome.makespan:.4g} s", bold=True)
    top = y = y + FONT
    by_governor: list[list[Placement]] = [[] for _ in range(chart.governors)]
    for placed in chart.outcome.placements:
        by_governor[placed.governor].append(placed)
    for number, placements in enumerate(by_governor):
        rows, count = _rows(placements)
        height = max(8.0, min(14.0, 600 / chart.governors) / max(count, 1))
        for placed, row in zip(placements, rows, strict=True):
            name = chart.names[placed.task]
            hint = f"{name} {placed.task}: {placed.start:.4g} to {placed.end:.4g} s"
            drawing.rectangle(
                left + placed.start * scale,
                y + row * height,
                (placed.end - placed.start) * scale - 0.4,
                height - 0.6,
                colours.get(name, "#bbbbbb"),
                hint,
            )
        band = max(count, 1) * height
        drawing.text(left - 8, y + band / 2 + FONT / 3, str(number), anchor="end")
        y += band + 3
    for second in ticks(end):
        x = left + second * scale
        drawing.line(x, top, x, y)
        drawing.text(x, y + FONT, f"{second:g}", anchor="middle")
    return y + FONT


def _rows(placements: list[Placement]) -> tuple[list[int], int]:
    """Assigns rows so that no tasks overlap; returns the row of each and the number of rows."""
    order = sorted(range(len(placements)), key=lambda i: (placements[i].start, i))
    rows = [0] * len(placements)
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    count = 0
    for i in order:
        while busy and busy[0][0] <= placements[i].start + 1e-9:
            heappush(free, heappop(busy)[1])
        if free:
            rows[i] = heappop(free)
        else:
            rows[i], count = count, count + 1
        heappush(busy, (placements[i].end, rows[i]))
    return rows, count


def bars(results: Sequence[LeagueResult]) -> str:
    """Draws how much longer than the best each scheduler took, per graph and overall."""
    several = len({result.entry.instance.estimates for result in results}) > 1
    schedulers = list(dict.fromkeys(_row_name(result, several=several) for result in results))
    colours = colours_of(schedulers)
    groups: dict[str, dict[str, list[float]]] = {}
    for ratio, result in zip(ratios(results), results, strict=True):
        for graph in (result.graph, "all graphs"):
            group = groups.setdefault(graph, {})
            group.setdefault(_row_name(result, several=several), []).append(ratio)
    groups["all graphs"] = groups.pop("all graphs")
    drawing = Drawing(WIDTH)
    drawing.text(20, 20, "Makespan, as a multiple of the best (geometric mean)", bold=True)
    y = drawing.legend(20, 42, colours) + FONT
    left = 30 + LETTER * max(len(graph) for graph in groups)
    most = max(geometric_mean(found) for group in groups.values() for found in group.values())
    scale = (WIDTH - 80 - left) / most
    top = y
    for graph, group in groups.items():
        middle = y + 6 * len(group) + FONT / 3
        drawing.text(left - 8, middle, graph, anchor="end", bold=graph == "all graphs")
        for name in schedulers:
            if name in group:
                mean = geometric_mean(group[name])
                hint = f"{name} on {graph}: {mean:.3f}"
                drawing.rectangle(left, y, mean * scale, 11, colours[name], hint)
                drawing.text(left + mean * scale + 4, y + 10, f"{mean:.2f}")
                y += 12
        y += 8
    drawing.line(left + scale, top - 4, left + scale, y, INK)
    return drawing.finish("Schedulers compared: makespan as a multiple of the best")


def _row_name(result: LeagueResult, *, several: bool) -> str:
    """The scheduler, with its estimates if there are several kinds."""
    name = result.entry.scheduler
    return f"{name}, {result.entry.instance.estimates}" if several else name
