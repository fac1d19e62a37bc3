"""Results as plain values, for JSON."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from rain.lab.league import LeagueResult, ratios, standings
from rain.lab.whatif import Alternative, WhatIf


def report(results: Sequence[LeagueResult]) -> dict[str, object]:
    """The standings and all runs."""
    return {
        "standings": [attrs.asdict(row) for row in standings(results)],
        "runs": [
            _run(result, ratio) for result, ratio in zip(results, ratios(results), strict=True)
        ],
    }


def _run(result: LeagueResult, ratio: float) -> dict[str, object]:
    instance, outcome = result.entry.instance, result.outcome
    return {
        "graph": result.graph,
        "seed": instance.seed,
        "cluster": instance.cluster.name,
        "governors": len(instance.cluster.governors),
        "cpus": instance.cluster.cpus,
        "bandwidth": instance.cluster.bandwidth,
        "estimates": str(instance.estimates),
        "scheduler": result.entry.scheduler,
        "tasks": result.tasks,
        "critical_path": result.bounds.critical_path,
        "work": result.bounds.work,
        "makespan": outcome.makespan,
        "ratio": ratio,
        "moved": outcome.moved,
        "transfers": outcome.transfers,
        "peak_stored": outcome.peak_stored,
        "peak_governor": outcome.peak_governor,
        "turns": outcome.turns,
        "scheduler_runs": outcome.scheduler_runs,
        "scheduler_seconds": outcome.scheduler_seconds,
        "digest": outcome.digest,
    }


def what_if_report(answer: WhatIf) -> dict[str, object]:
    """A recorded run and its alternatives."""
    run = answer.run
    return {
        "recording": run.workload.name,
        "tasks": len(run.workload.tasks),
        "left_out": run.left_out,
        "makespan": run.makespan,
        "error": answer.error,
        "latency": run.cluster.latency,
        "bandwidth": run.cluster.bandwidth,
        "overheads": attrs.asdict(run.overheads),
        "as_it_was": _alternative(answer, answer.same),
        "alternatives": [_alternative(answer, other) for other in answer.others],
    }


def _alternative(answer: WhatIf, row: Alternative) -> dict[str, object]:
    return {
        "scheduler": row.scheduler,
        "cluster": row.cluster.name,
        "simulated": row.outcome.makespan,
        "predicted": answer.predicted(row),
        "moved": row.outcome.moved,
        "peak_stored": row.outcome.peak_stored,
        "digest": row.outcome.digest,
    }
