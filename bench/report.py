"""Makes a table and JSON values from the results of all systems."""

from bench.results import Quantity, Results, Unit
from bench.runners import OURS
from bench.sheet import Sheet
from bench.summary import Summary

FAILED = "failed"
"""Shown instead of a figure if the turns of the system have failed."""


def _cell(results: Results, system: str, one: Quantity) -> str:
    summary = results.summary(system, one)
    if summary is None:
        return FAILED if system in results.problems else "-"
    return describe(one, summary)


def describe(quantity: Quantity, summary: Summary) -> str:
    """A time in the unit of the quantity, with its spread."""
    if quantity.unit is Unit.TASKS_PER_SECOND:
        text = f"{quantity.tasks / summary.median:,.0f}"
    else:
        text = f"{summary.median / quantity.tasks * 1000:.3g}"
    return f"{text} ±{summary.spread / 2:.0%}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"


def results_sheet(title: str, results: Results) -> Sheet:
    """A table with a row for each quantity, with ratios to peers and limits."""
    turns = max((len(results.of(OURS.name, one)) for one in results.quantities), default=0)
    limits = results.limits()
    peers = [name for name in results.systems if name not in limits]
    rows: list[tuple[str, ...]] = []
    for one in results.quantities:
        cells = [one.name, one.unit.value, f"{one.tasks:,}"]
        cells += [_cell(results, name, one) for name in peers]
        if len(peers) > 1:
            cells.append(_times(results.ratio(one)))
        for name in limits:
            cells += [
                _cell(results, name, one),
                _times(results.ratio_to(name, one)),
            ]
        rows.append(tuple(cells))
    against = ["vs peers"] if len(peers) > 1 else []
    beyond = [column for name in limits for column in (name, f"vs {name}")]
    reasons = "".join(f" A turn failed, {reason}" for reason in results.reasons())
    return Sheet(
        title=title,
        columns=("what", "unit", "tasks", *peers, *against, *beyond),
        rows=tuple(rows),
        caption=f"Medians of {turns} turn{'s' if turns != 1 else ''} and half of their range;"
        f" vs: how many times faster Rain is (than the best of the peers).{reasons}",
        words=2,
    )


def results_values(results: Results) -> dict[str, object]:
    """All values of the table, for `--json`."""
    return {
        "systems": list(results.systems),
        "problems": [problem for found in results.problems.values() for problem in found],
        "quantities": {one.name: _values(results, one) for one in results.quantities},
    }


def _values(results: Results, one: Quantity) -> dict[str, object]:
    summaries = {name: results.summary(name, one) for name in results.systems}
    known = {name: summary for name, summary in summaries.items() if summary}
    details = {name: results.details.get(name, {}).get(one.name) for name in results.systems}
    return {
        "tasks": one.tasks,
        "unit": one.unit.value,
        "seconds": {name: results.of(name, one) for name in results.systems},
        "median": {name: summary.median for name, summary in known.items()},
        "spread": {name: summary.spread for name, summary in known.items()},
        "times_faster_than_best_peer": results.ratio(one),
        "times_faster_than_limit": {name: results.ratio_to(name, one) for name in results.limits()},
        "details": {name: detail for name, detail in details.items() if detail},
    }
