"""Results as plain values, for JSON."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from rain.lab.league import Result, ratios, standings


def report(results: Sequence[Result]) -> dict[str, object]:
    """The standings, and every run."""
    return {
        "standings": [attrs.asdict(row) for row in standings(results)],
        "runs": [
            _run(result, ratio) for result, ratio in zip(results, ratios(results), strict=True)
        ],
    }


def _run(result: Result, ratio: float) -> dict[str, object]:
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
