"""Plays runs of the simulation, and looks for the least that still goes wrong."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, frozen

from tests.simulation.cluster import Cluster
from tests.simulation.plan import Fault, Plan


@frozen
class Failure:
    """What was wrong with a run."""

    plan: Plan
    error: Exception
    happened: tuple[str, ...]  # the faults until then

    @property
    def cause(self) -> str:
        """Its kind, by which the failures of smaller runs are compared."""
        return type(self.error).__name__

    def __str__(self) -> str:
        plan = self.plan
        return (
            f"seed {plan.seed}: {plan.servers} servers, {plan.clients} clients, {plan.governors}"
            f" governors, {plan.parts} submissions each; {self.cause}: {str(self.error)[:1000]}\n"
            + "\n".join(self.happened)
            + f"\nAgain, and smaller: python -m tests.simulation {plan.seed} --shrink"
        )


def play(plan: Plan) -> Failure | None:
    """Makes a run; what was wrong with it, if anything was."""
    with tempfile.TemporaryDirectory() as folder, _no_warnings():
        cluster = Cluster(plan, Path(folder))
        try:
            cluster.run()
        except Exception as error:  # noqa: BLE001 # whatever is raised in any part is the finding
            return Failure(plan, error, tuple(cluster.told))
    return None


def shrink(failure: Failure) -> Failure:
    """A smaller run that fails in the same way: fewer faults, then less of everything."""
    best = failure
    faults = _fewer(best)
    while (smaller := next(faults, None)) is not None:
        best = smaller
        faults = _fewer(best)
    plan = best.plan
    for smaller_plan in (
        evolve(plan, parts=1),
        evolve(plan, parts=2),
        evolve(plan, servers=1),
        evolve(plan, clients=1),
        evolve(plan, governors=1),
    ):
        found = play(smaller_plan)
        if found is not None and found.cause == best.cause:
            return found
    return best


def _fewer(failure: Failure) -> Generator[Failure]:
    """Failing runs with some of the faults left out, many at first."""
    faults = failure.plan.faults
    size = len(faults)
    while size:
        for start in range(0, len(faults), size):
            left: tuple[Fault, ...] = faults[:start] + faults[start + size :]
            found = play(evolve(failure.plan, faults=left))
            if found is not None and found.cause == failure.cause:
                yield found
        size //= 2


@contextmanager
def _no_warnings() -> Generator[None]:
    """The server warns of every fault."""
    log = logging.getLogger("rain.local")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
