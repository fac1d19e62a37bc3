"""The tables of `rain lab`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rain.base.sizes import spell_size
from rain.lab.league import Instance, LeagueResult, standings
from rain.lab.whatif import WhatIf, spell_time

SHOWN = 60
"""The most instances for which each makespan is shown; else only the standings are."""


def print_results(results: Sequence[LeagueResult], console: Console) -> None:
    """Prints the makespans of all instances, if they are few, and the table of schedulers."""
    instances = list(dict.fromkeys(result.entry.instance for result in results))
    if len(instances) <= SHOWN:
        for table in _that_fit(instances, results, console):
            console.print(table)
    console.print(_standings(results))


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)


def _that_fit(
    instances: Sequence[Instance], results: Sequence[LeagueResult], console: Console
) -> Iterator[Table]:
    """Splits the schedulers into tables that fit the width of the console."""
    left = list(dict.fromkeys(result.entry.scheduler for result in results))
    unbound = console.options.update(width=10_000)
    while left:
        count = len(left)
        table = _makespans(instances, results, left)
        while count > 1 and console.measure(table, options=unbound).maximum > console.width:
            count -= 1
            table = _makespans(instances, results, left[:count])
        yield table
        del left[:count]


def _makespans(
    instances: Sequence[Instance], results: Sequence[LeagueResult], schedulers: Sequence[str]
) -> Table:
    found = {(result.entry.instance, result.entry.scheduler): result for result in results}
    best: dict[Instance, float] = {}
    for result in results:
        instance, span = result.entry.instance, result.outcome.makespan
        best[instance] = min(best.get(instance, span), span)
    first = {result.entry.instance: result for result in reversed(results)}
    alike = {"seed": 1, "cluster": 1, "estimates": 1}
    for what in alike:
        alike[what] = len({str(getattr(instance, what)) for instance in instances})
    shown = [what for what, count in alike.items() if count > 1]
    said = [instances[0].cluster.name] if "cluster" not in shown else []
    said += [f"estimates: {instances[0].estimates}"] if "estimates" not in shown else []
    table = _table("Makespans in seconds")
    table.caption = "; ".join([*said, "chain, work: bounds that no scheduler can beat"])
    table.caption_justify = "left"
    for name in ("graph", *shown):
        table.add_column(name, no_wrap=True)
    for name in ("tasks", "chain", "work", *schedulers):
        table.add_column(Text(name), justify="right")
    for instance in instances:
        result = first[instance]
        spans = [found[instance, name].outcome.makespan for name in schedulers]
        values = {
            "seed": str(instance.seed),
            "cluster": instance.cluster.name,
            "estimates": str(instance.estimates),
        }
        table.add_row(
            Text(result.graph),
            *(Text(values[what]) for what in shown),
            str(result.tasks),
            spell_seconds(result.bounds.critical_path),
            spell_seconds(result.bounds.work),
            *(
                Text(spell_seconds(span), style="bold" if span == best[instance] else "")
                for span in spans
            ),
        )
    return table


def _standings(results: Sequence[LeagueResult]) -> Table:
    rows = standings(results)
    several = len({row.estimates for row in rows}) > 1
    table = _table("Schedulers, the best first")
    table.add_column("scheduler", no_wrap=True)
    if several:
        table.add_column("estimates")
    for name in ("score", "worst", "bound", "moved", "peak", "turns", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row.scheduler),
            *([str(row.estimates)] if several else []),
            f"{row.score:.3f}",
            f"{row.worst:.2f}",
            f"{row.to_bound:.2f}",
            spell_size(row.moved),
            spell_size(row.peak_stored),
            str(row.turns),
            f"{row.scheduler_seconds:.2f} s",
        )
    table.caption = (
        "score, worst: makespan / best of its instance; bound: makespan / bound; moved: bytes"
        " fetched; peak: bytes stored at once; cost: seconds in the scheduler"
    )
    table.caption_justify = "left"
    return table


def print_what_if(answer: WhatIf, console: Console) -> None:
    """Prints a recorded run as measured and its alternatives."""
    run = answer.run
    table = _table(f"{len(run.workload.tasks)} tasks of {run.workload.name}")
    table.add_column("scheduler", no_wrap=True)
    table.add_column("cluster")
    for name in ("simulated", "predicted", "moved", "peak"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in (answer.same, *answer.others):
        table.add_row(
            Text(row.scheduler),
            Text(row.cluster.name),
            spell_time(row.outcome.makespan),
            spell_time(answer.predicted(row)),
            spell_size(row.outcome.moved),
            spell_size(row.outcome.peak_stored),
        )
    console.print(table)
    left_out = f" {run.left_out} tasks that did not finish are left out." if run.left_out else ""
    lines = [
        f"It took {spell_time(run.makespan)}; the lab says {answer.error:+.1%} of that.{left_out}",
        *(f"{answer.sentence(other)}." for other in answer.others),
    ]
    for line in lines:
        console.print(Text(line[0].upper() + line[1:]))


def spell_seconds(seconds: float) -> str:
    """Spells seconds with enough digits to tell results apart."""
    return f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.4g}"
