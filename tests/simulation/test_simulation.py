"""Whole clusters in virtual time: whatever breaks, every client gets what it must get, and nothing
is left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve

from tests.simulation.cluster import Cluster
from tests.simulation.plan import Fault, Kind, plan_of
from tests.simulation.play import play, shrink
from tests.simulation.work import Job
from tests.support.effort import examples

AT_ONCE = 25


@pytest.mark.parametrize("first", range(0, examples(500), AT_ONCE))
def test_whatever_breaks_every_client_gets_its_results_and_nothing_is_left(first: int) -> None:
    failures = [play(plan_of(seed)) for seed in range(first, first + AT_ONCE)]
    assert not [str(failure) for failure in failures if failure is not None]


def test_the_runs_of_the_suite_meet_every_kind_of_fault_alone_and_together() -> None:
    kinds = [{fault.kind for fault in plan_of(seed).faults} for seed in range(examples(500))]
    alone = Counter(next(iter(one)) for one in kinds if len(one) == 1)
    assert set(alone) == set(Kind)
    assert max(map(len, kinds)) > 5


def test_a_seed_is_always_the_same_run(tmp_path: Path) -> None:
    ends: list[tuple[float, int]] = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        cluster = Cluster(plan_of(11), folder)
        cluster.run()
        ends.append((cluster.agenda.now, cluster.server.disk.turns))
    assert ends[0] == ends[1]


def test_a_wrong_result_is_found_and_its_run_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: faults, and governors that let every fifth task fail, which has nothing to do with them
    plan = evolve(plan_of(3), faults=tuple(Fault(1001.0 + n, Kind.DRAIN, n) for n in range(5)))
    unpack = Job.unpack

    def unpack_wrong(config: bytes) -> Job:
        job = unpack(config)
        return evolve(job, fails=job.number % 5 == 3)

    monkeypatch.setattr(Job, "unpack", staticmethod(unpack_wrong))

    # when
    failure = play(plan)

    # then
    assert failure is not None
    assert "cannot fail" in str(failure.error)
    assert not shrink(failure).plan.faults
