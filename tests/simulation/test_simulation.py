"""Whole clusters in virtual time: whatever breaks, every client gets what it must get, and nothing
is left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from attrs import evolve

from rain.governor.core.effects import CallExecutor
from rain.graph import loss
from rain.server.core.durable import Durable
from rain.server.journal import recovery
from rain.server.journal.listing import look_into
from tests.simulation.agenda import START
from tests.simulation.cluster import Cluster
from tests.simulation.plan import Fault, Kind, Plan, plan_of
from tests.simulation.play import play, shrink
from tests.simulation.work import Job
from tests.support.effort import examples

AT_ONCE = 25

STILL = 7
"""Seconds for which a server stands still: longer than a lease."""


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
        ends.append((cluster.agenda.now, look_into(folder / "journal").recovered.turns))
    assert ends[0] == ends[1]


def test_what_an_executor_is_told_after_its_death_has_no_effect(tmp_path: Path) -> None:
    # One turn may read which calls were returned, interrupt the rest, and then read of the death.
    executors = Cluster(plan_of(0), tmp_path).governors[0].executors
    executors.interrupt(2, 1)
    executors.take_back(2)
    executors.drop(2, [], [])
    executors.kill(2)
    executors.call(2, CallExecutor(2, [], [], [], []))


def replaced_again_and_again(seed: int) -> Plan:
    """Servers that stand still until their lease has lapsed or nearly so, many of them before
    they say what they have decided."""
    random = Random(seed)
    faults = [
        Fault(
            START + 1.5 + 6 * number,
            Kind.STOP_SERVER,
            26 * random.randrange(40) + 13 * random.randrange(2) + random.choice([5, 6, 7, 8]),
        )
        for number in range(6)
    ]
    return evolve(plan_of(seed), servers=2, faults=tuple(faults))


def test_who_led_finds_another_leader_when_it_goes_on_and_ends(tmp_path: Path) -> None:
    # given: it stands still from its next word on, for longer than its lease
    fault = Fault(START + 1.5, Kind.STOP_SERVER, 26 * 13 + 13 + STILL)
    cluster = Cluster(evolve(plan_of(0), servers=2, faults=(fault,)), tmp_path)
    former, other = cluster.servers.all

    # when
    cluster.run()

    # then
    assert cluster.leader() is other
    assert other.state.succession.generation == 2
    assert former.lives == 2
    assert not former.leads


def test_the_runs_find_out_if_the_words_of_a_replaced_server_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = [replaced_again_and_again(seed) for seed in (0, 13, 19)]
    assert not [str(failure) for failure in map(play, plans) if failure is not None]
    monkeypatch.setattr(recovery, "first_of_successor", _no_successor)
    assert any(map(play, plans))


def test_the_runs_find_out_if_a_durable_session_has_nothing_for_the_next_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = evolve(plan_of(2), parts=1, clients=3, governors=3, faults=())
    assert play(plan) is None
    monkeypatch.setattr(Durable, "find", _nothing_there)
    failure = play(plan)
    assert failure is not None
    assert "computed again" in str(failure.error)


def test_the_runs_find_out_if_a_list_outlives_what_it_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults = tuple(Fault(START + 2 + 3 * n, Kind.KILL_GOVERNOR, n) for n in range(8))
    plan = evolve(plan_of(9), parts=1, clients=3, governors=3, faults=faults)
    assert play(plan) is None
    monkeypatch.setattr(loss, "lists_with", _no_lists)
    failure = play(plan)
    assert failure is not None
    assert "which is not there" in str(failure.error)


def _nothing_there(*_: object) -> None:
    """A durable session has nothing that is the same."""


def _no_lists(_: object) -> list[object]:
    """Nothing lists an object that is lost."""
    return []


def _no_successor(*_: object) -> None:
    """Nobody has gone on after a file."""


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
