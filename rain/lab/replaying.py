"""Opens recordings and simulates what-if questions on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from rain.base.errors import RainError
from rain.lab.estimates import Estimates, expect
from rain.lab.rebuilding import RecordedRun, read_run
from rain.lab.recorded import RecordingReader
from rain.lab.running import check_fits, run_guarded
from rain.lab.setup import PATIENT, Setup
from rain.lab.whatif import Alternative, WhatIf
from rain.lab.workload import Cluster, LabError
from rain.server.core.reactor import Reactor
from rain.server.core.state import State
from rain.server.plugins import maker_of
from rain.server.recording import Recording, check_end, guard_replay


def open_run(path: Path) -> tuple[RecordedRun, str]:
    """Reads the run of a recording and the name of its scheduler."""
    try:
        with path.open("rb") as file:
            recording = Recording(file)
            header = recording.header
            state = State(evolve(header.settings, debug=False))
            state.graph.last_session = header.last_session
            with guard_replay(header) as guard:
                reader = RecordingReader(
                    Reactor(maker_of(header.scheduler), state, guard), check_end
                )
                return read_run(reader, recording.turns(), path.name), header.scheduler
    except OSError as error:
        raise LabError(f"{path}: cannot be read: {error.strerror}") from None
    except LabError:
        raise
    except RainError as error:
        raise LabError(f"{path}: {error}") from None


def ask(
    run: RecordedRun,
    scheduler: str,
    schedulers: Sequence[str],
    clusters: Sequence[Cluster],
    limit: float = PATIENT.scheduler_limit,
) -> WhatIf:
    """Simulates the run with its own scheduler, and with each scheduler on each cluster.

    An empty list of schedulers or clusters means those of the run.
    """
    same = simulate(run, scheduler, run.cluster, limit)
    others = [
        simulate(run, name, cluster, limit)
        for cluster in (clusters or [run.cluster])
        for name in (schedulers or [scheduler])
        if (name, cluster) != (scheduler, run.cluster)
    ]
    return WhatIf(run, same, others)


def simulate(
    run: RecordedRun, scheduler: str, cluster: Cluster, limit: float = PATIENT.scheduler_limit
) -> Alternative:
    """Runs the recorded graph in the lab; the scheduler has the same estimates as then."""
    check_fits(run.workload, cluster)
    setup = Setup(run.workload, cluster, expect(run.workload, Estimates.USER), run.overheads)
    return Alternative(scheduler, cluster, run_guarded(setup, scheduler, limit))
