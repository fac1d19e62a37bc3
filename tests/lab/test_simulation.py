from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.resources import Resources
from rain.graph import Graph
from rain.lab.bounds import bounds
from rain.lab.families.elementary import ELEMENTARY
from rain.lab.workload import MIB, Batch, LabError, Overheads, Workload
from rain.scheduler.api import News, Plan
from rain.scheduler.rain import RainScheduler
from rain.scheduler.round_robin import RoundRobinScheduler
from tests.lab.running import ByHand, Lazy, cluster, digest_of, run, run_unchecked
from tests.support.effort import examples

PROJECT = Path(__file__).parents[2]


def chain(*seconds: float, size: float = 0) -> Workload:
    workload = Workload("chain")
    made: tuple[int, ...] = ()
    for duration in seconds:
        task = workload.add_task("link", duration, inputs=made)
        made = (workload.add_object(size, task),)
    return workload


def bag(*seconds: float) -> Workload:
    workload = Workload("bag")
    for duration in seconds:
        workload.add_task("work", duration)
    return workload


def test_one_cpu_runs_one_task_after_the_other() -> None:
    assert run(bag(2, 2, 2), cluster(1)).makespan == 6.0


def test_tasks_that_fit_together_run_together() -> None:
    workload = Workload("cpus")
    for cpus in (3, 2, 1):
        workload.add_task("work", 5.0, resources=Resources(cpus))
    # three and one share the four cpus, two waits
    assert run(workload, cluster(4), ByHand([0, 0, 0])).makespan == 10.0


def test_a_chain_on_one_governor_moves_nothing() -> None:
    outcome = run(chain(1, 2, 3, size=50 * MIB), cluster(2, 2), ByHand([0, 0, 0]))
    assert outcome.makespan == 6.0
    assert outcome.moved == 0


def test_an_input_from_elsewhere_takes_its_time_on_the_network() -> None:
    outcome = run(chain(1, 1, size=50 * MIB), cluster(1, 1, bandwidth=25.0), ByHand([0, 1]))
    assert outcome.makespan == 1.0 + 2.0 + 1.0
    assert (outcome.moved, outcome.transfers) == (50 * MIB, 1)


def test_transfers_into_one_governor_share_its_download() -> None:
    # given: two objects of 100 MiB that are made at once, each on a governor of its own
    workload = Workload("merge")
    inputs = [workload.add_object(100 * MIB, workload.add_task("make", 1)) for _ in range(2)]
    workload.add_task("merge", 1, inputs=inputs)
    # when: a third governor merges them
    outcome = run(workload, cluster(1, 1, 1, bandwidth=100.0), ByHand([0, 1, 2]))
    # then: each gets half of the download
    assert outcome.makespan == 1.0 + 2.0 + 1.0


def test_more_fetches_than_the_limit_wait() -> None:
    # given: a small object behind a large one, from different governors
    workload = Workload("limit")
    large = workload.add_object(100 * MIB, workload.add_task("large", 1))
    small = workload.add_object(10 * MIB, workload.add_task("small", 1))
    workload.add_task("read", 0, inputs=[large])
    workload.add_task("read", 5, inputs=[small])
    hand = ByHand([0, 1, 2, 2])
    # when / then: together they take 0.2 s for the small one, at half of the download
    assert run(workload, cluster(1, 1, 2), hand).makespan == pytest.approx(1 + 0.2 + 5)
    # when / then: one at a time, the small one waits for the large one
    limited = cluster(1, 1, 2, downloads=1)
    assert run(workload, limited, hand).makespan == pytest.approx(1 + 1 + 0.1 + 5)


def test_larger_priorities_run_first() -> None:
    outcome = run(bag(1, 2, 4), cluster(1), ByHand([0, 0, 0], priorities=[1, 2, 3]))
    order = sorted(outcome.placements, key=lambda placed: placed.start)
    assert [placed.task for placed in order] == [2, 1, 0]


def test_latency_and_overheads_are_counted() -> None:
    # submit -> plan, in a turn of 0.25 -> order 0.5 -> task 1 + 0.125 -> news 0.5
    overheads = Overheads(task=0.125, turn=0.25)
    assert run(bag(1), cluster(1, latency=0.5), overheads=overheads).makespan == 2.375


def test_what_the_scheduler_costs_delays_the_orders() -> None:
    assert run(bag(1, 1), cluster(2), overheads=Overheads(news=0.25)).makespan == 1.5


def test_a_later_batch_comes_after_what_the_client_waits_for() -> None:
    # given
    workload = Workload("batches")
    first = workload.add_task("first", 3)
    made = workload.add_object(10, first)
    workload.add_task("second", 1, inputs=[made], batch=1)
    workload.add_task("third", 1, batch=2)
    workload.batches = [Batch(), Batch(delay=0.5, after=(first,)), Batch(delay=2)]
    # when
    outcome = run(workload, cluster(4))
    # then
    starts = {placed.task: placed.start for placed in outcome.placements}
    assert starts == {0: 0.0, 1: 3.5, 2: 5.5}


def test_what_comes_from_outside_is_sent_by_the_server() -> None:
    workload = Workload("outside")
    given_object = workload.add_object(50 * MIB)
    workload.add_task("read", 1, inputs=[given_object])
    assert run(workload, cluster(1, bandwidth=25.0)).makespan == 2.0 + 1.0


def test_an_object_that_nobody_needs_leaves_the_store() -> None:
    # when: ten objects of 1 MiB follow each other, ten seconds apart
    outcome = run(chain(*[10.0] * 10, size=MIB), cluster(1))
    # then: the one that is made and the one that is read were there, and never more
    assert outcome.peak_stored == 2 * MIB


def test_a_scheduler_that_plans_nothing_is_told_by_name() -> None:
    with pytest.raises(LabError, match=r"leaves 2 tasks of 'bag' undone"):
        run(bag(1, 1), cluster(1), Lazy())


@pytest.mark.parametrize("name", ELEMENTARY)
def test_no_run_beats_the_bounds(name: str) -> None:
    workload = ELEMENTARY[name](3)
    on = cluster(4, 4, 4, bandwidth=200.0)
    for scheduler in (RainScheduler(), RoundRobinScheduler()):
        outcome = run_unchecked(workload, on, scheduler)
        assert outcome.makespan >= bounds(workload, on).best - 1e-6
        assert len({placed.task for placed in outcome.placements}) == len(workload.tasks)


def test_a_fetch_may_be_stopped_in_the_instant_in_which_it_ends() -> None:
    # given: what reads the large object comes in the way of what reads the small one
    workload = Workload("any")
    for _ in range(2):
        workload.add_object(0)
    for duration, cpus, inputs, sizes in (
        (0, 0, [], [0]),
        (1, 0, [], [20]),
        (0, 0, [], [0, 0]),
        (0, 0, [], [0]),
        (1, 1, [2, 3], [1, 0]),
        (3, 2, [2, 3], []),
        (0, 0, [], []),
        (0, 0, [], []),
        (0, 0, [], []),
        (1, 2, [8], []),
        (0, 1, [7], []),
        (0, 1, [2, 3], []),
    ):
        task = workload.add_task("a", duration, inputs=inputs, resources=Resources(cpus))
        for size in sizes:
            workload.add_object(size * MIB, task)
    # when / then
    on = cluster(2, 2, bandwidth=10.0, latency=0.01, downloads=2)
    assert len(run(workload, on).placements) == len(workload.tasks)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Small graphs of any form; a task reads what earlier ones make, or what is from outside."""
    workload = Workload("any")
    for _ in range(draw(st.integers(0, 2))):
        workload.add_object(draw(st.integers(0, 30)) * MIB)
    for _ in range(draw(st.integers(1, 14))):
        count = len(workload.objects)
        inputs = draw(st.lists(st.integers(0, count - 1), max_size=3)) if count else []
        cpus = Resources(draw(st.integers(0, 2)))
        task = workload.add_task(
            draw(st.sampled_from("abc")), draw(st.integers(0, 5)), inputs=inputs, resources=cpus
        )
        for _ in range(draw(st.integers(0, 2))):
            workload.add_object(draw(st.sampled_from([0, 100, MIB, 20 * MIB])), task)
    return workload


@settings(max_examples=examples(60), deadline=None)
@given(workloads(), st.lists(st.integers(2, 3), min_size=1, max_size=3))
def test_any_graph_runs_to_its_end_with_every_checker_on(
    workload: Workload, cpus: list[int]
) -> None:
    on = cluster(*cpus, bandwidth=10.0, latency=0.01, downloads=2)
    outcome = run(workload, on)
    assert outcome.makespan >= bounds(workload, on).critical_path - 1e-6
    assert sorted(placed.task for placed in outcome.placements) == list(range(len(workload.tasks)))


def test_the_same_run_has_the_same_events_in_every_process() -> None:
    # given
    program = "from tests.lab.running import digest_of; print(digest_of('merge_neighbours', 2))"
    digests = {digest_of("merge_neighbours", 2), digest_of("merge_neighbours", 2)}
    # when: processes whose sets have other orders
    for seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PROJECT)}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    # then
    assert len(digests) == 1
    assert digest_of("merge_neighbours", 3) not in digests


class Restless:
    """Moves every task in every run, for ever."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        governors = list(graph.governors.values())
        for task in list(graph.tasks.values()):
            place = task.scheduled
            if task.is_done or task.started:
                continue
            if place is not None:
                plan.take_back(task)
            plan.assign(task, governors[0 if place is governors[1] else 1])
        plan.run_again()


def test_a_scheduler_that_moves_tasks_for_ever_is_ended_by_name() -> None:
    with pytest.raises(LabError, match="the scheduler of a test makes no progress on 'bag': no"):
        run_unchecked(bag(10), cluster(1, 1), Restless())


@pytest.mark.parametrize("seconds", [1e9, 1e15])
def test_a_turn_is_not_taken_for_every_second_of_years(seconds: float) -> None:
    outcome = run(bag(seconds, 1), cluster(2))
    assert outcome.makespan == pytest.approx(seconds)
    assert outcome.turns < 2000


def test_what_takes_many_turns_to_be_read_is_no_standstill() -> None:
    # given: more tasks and inputs than the server reads in fifty turns
    workload = Workload("wide")
    shared = [workload.add_object(1) for _ in range(90)]
    for _ in range(3000):
        workload.add_task("work", 0.001, inputs=shared)
    # when / then
    assert run_unchecked(workload, cluster(64), RoundRobinScheduler()).makespan > 0
