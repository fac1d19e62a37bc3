"""How many governors there should be: by what waits, within the limits, and without flapping."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rain.base.resources import Resources
from rain.base.wire.demand import Need
from rain.scaling.memory import LONGEST_PAUSE, ScalingMemory
from rain.scaling.picture import GovernorKind, Hired, Picture, Stage, kind_for
from rain.scaling.policy import Decisions, Rules, Start, decide

CPU = GovernorKind("cpu", Resources(4), most=10)
GPU = GovernorKind("gpu", Resources.of({"cpus": 4, "gpus": 2}), most=4)
RULES = Rules(idle=60.0)


def at_once(
    needs: Sequence[Need],
    hired: Sequence[Hired] = (),
    kinds: Sequence[GovernorKind] = (CPU,),
    memories: dict[str, ScalingMemory] | None = None,
    now: float = 0.0,
) -> Decisions:
    return decide(Picture(kinds, needs, hired), RULES, memories or {}, now)


def ready(name: str, *, idle: float = 0.0, kind: str = "cpu", sole: bool = False) -> Hired:
    return Hired(name, kind, Stage.READY, idle=idle, sole=sole)


def test_without_work_nothing_is_started() -> None:
    assert at_once([]).start == []


def test_a_single_task_gets_a_governor() -> None:
    assert at_once([Need(waiting=1, unknown=1)]).start == [Start("cpu")]


def test_no_more_governors_than_tasks_can_use() -> None:
    found = at_once([Need(waiting=9, seconds=9 * 3600.0)])
    assert len(found.start) == 3  # of four cpus each, for nine tasks


def test_no_more_than_the_work_is_worth() -> None:
    found = at_once([Need(waiting=4000, seconds=120.0)])
    assert len(found.start) == 2  # 30 seconds for one governor, 15 for two


def test_no_more_than_are_allowed() -> None:
    found = at_once([Need(waiting=4000, seconds=4e6)])
    assert len(found.start) == CPU.most
    assert (
        at_once([Need(waiting=4000, seconds=4e6)], [ready(f"g{n}") for n in range(10)]).start == []
    )


def test_what_is_queued_counts() -> None:
    queued = [Hired(f"g{n}", "cpu", Stage.QUEUED) for n in range(3)]
    assert at_once([Need(waiting=9, seconds=9 * 3600.0)], queued).start == []


def test_the_least_is_there_without_any_work_and_stays_when_it_is_idle() -> None:
    kind = evolve(CPU, least=2)
    assert len(at_once([], kinds=[kind]).start) == 2
    idle = [ready(f"g{n}", idle=1000.0) for n in range(3)]
    assert len(at_once([], idle, [kind]).drain) == 1


def test_tasks_with_gpus_get_governors_with_gpus_and_others_do_not() -> None:
    with_gpu = Need(Resources.of({"cpus": 1, "gpus": 1}), waiting=4, seconds=4000.0)
    assert at_once([with_gpu], kinds=[GPU, CPU]).start == [Start("gpu"), Start("gpu")]
    assert at_once([Need(waiting=1, unknown=1)], kinds=[GPU, CPU]).start == [Start("cpu")]
    assert at_once([with_gpu]).start == []  # nobody offers them


def test_where_there_is_no_other_kind_tasks_without_gpus_run_beside_them() -> None:
    assert kind_for(Need(), [GPU]) is GPU


def test_few_large_jobs_instead_of_many_small_ones() -> None:
    kind = evolve(CPU, largest=4)
    found = at_once([Need(waiting=40, seconds=40 * 600.0)], kinds=[kind])
    assert found.start == [Start("cpu", 4), Start("cpu", 4), Start("cpu", 2)]


def test_a_task_that_is_larger_than_the_usual_job_gets_a_job_that_is_large_enough() -> None:
    kind = evolve(CPU, largest=4)
    found = at_once([Need(Resources(10), waiting=1, unknown=1)], [ready("small")], [kind])
    assert found.start == [Start("cpu", 3)]


def test_an_idle_governor_is_let_go_after_its_time_and_not_before() -> None:
    assert at_once([], [ready("g", idle=59.0)]).drain == []
    assert at_once([], [ready("g", idle=60.0)]).drain == ["g"]


def test_a_kind_may_have_an_idle_time_of_its_own() -> None:
    soon = evolve(GPU, idle=10.0)
    idle = [ready("c", idle=30.0), ready("g", idle=30.0, kind="gpu")]
    assert at_once([], idle, [CPU, soon]).drain == ["g"]


def test_a_busy_governor_is_never_let_go() -> None:
    busy = [ready("g0"), ready("g1")]
    assert at_once([Need(running=1, occupied=0.1)], busy).drain == []


def test_the_last_governor_keeps_data_that_nobody_else_could_take() -> None:
    has_data = ready("g0", idle=1000.0, sole=True)
    assert at_once([], [has_data]).drain == []
    assert at_once([], [has_data, ready("g1", idle=70.0)]).drain == ["g1"]
    others = [has_data, ready("h", kind="gpu")]
    assert at_once([], others, [CPU, GPU]).drain == ["g0"]  # the other one takes it


def test_what_was_wanted_lately_is_kept() -> None:
    memories = at_once([Need(waiting=8, seconds=8000.0)]).memories
    idle = [ready("g0", idle=70.0), ready("g1", idle=70.0)]
    assert at_once([], idle, memories=memories, now=50.0).drain == []
    assert at_once([], idle, memories=memories, now=61.0).drain == ["g0", "g1"]


def test_a_job_that_waits_in_vain_is_cancelled_before_a_governor_is_let_go() -> None:
    hired = [ready("g0", idle=100.0), Hired("g1", "cpu", Stage.QUEUED)]
    found = at_once([Need(waiting=1, seconds=1.0)], hired)
    assert (found.cancel, found.drain) == (["g1"], [])
    assert at_once([], hired).drain == ["g0"]


def test_others_are_not_started_where_they_would_come_too_late() -> None:
    slow = {"cpu": ScalingMemory(starts=(300.0,))}
    work = [Need(waiting=400, seconds=1000.0)]
    assert at_once(work, [ready("g0")], memories=slow).start == []
    assert len(at_once(work, memories=slow).start) > 0  # nobody works yet


def test_the_next_one_is_asked_for_before_the_time_of_a_job_is_over() -> None:
    kind = evolve(CPU, seconds=3600.0)
    ends = Hired("g0", "cpu", Stage.READY, left=35.0)
    long = [Need(waiting=40, seconds=4000.0, running=4, occupied=60.0)]
    short = [Need(waiting=4, seconds=4.0)]
    assert (
        len(at_once(long, [ends], [kind]).start) == 9
    )  # as many as without it, in what is allowed
    assert at_once(short, [ends], [kind]).start == []  # it will have done this before
    assert at_once(long, [evolve(ends, left=3000.0)] * 9, [kind]).start == [Start("cpu")]


def test_nothing_is_started_for_tasks_that_would_not_end_on_it_and_that_is_told() -> None:
    kind = evolve(CPU, seconds=3600.0)
    long = Need(waiting=3, seconds=3 * 7200.0, shortest=7200.0)
    found = at_once([long], kinds=[kind])
    assert found.start == []
    assert found.why["cpu"] == (
        "wants 0 of 10: nothing waits;"
        " 3 tasks of 2 h or more would not end on a governor of cpu, which has 60 min"
    )
    short = Need(waiting=1, seconds=3500.0, shortest=3500.0)
    assert at_once([long, short], kinds=[kind]).start == [Start("cpu")]
    days = GovernorKind("days", Resources(4))
    assert at_once([long], kinds=[kind, days]).start == [Start("days")]


def test_who_has_too_little_time_for_what_waits_does_not_count() -> None:
    kind = evolve(CPU, seconds=3600.0)
    need = Need(waiting=1, seconds=1200.0, shortest=1200.0)
    early, late = (evolve(ready("g0"), left=left) for left in (2000.0, 1000.0))
    assert at_once([need], [early], [kind]).start == []
    assert at_once([need], [late], [kind]).start == [Start("cpu")]
    assert at_once([need], [late, Hired("g1", "cpu", Stage.QUEUED)], [kind]).start == []


def test_after_a_refusal_nothing_is_started_for_a_while_and_longer_after_many() -> None:
    memory = ScalingMemory().failed(100.0, "your quota is used up")
    work = [Need(waiting=1, unknown=1)]
    found = at_once(work, memories={"cpu": memory}, now=104.0)
    assert found.start == []
    assert "starts none for 1 s, since your quota is used up" in found.why["cpu"]
    assert at_once(work, memories={"cpu": memory}, now=105.0).start == [Start("cpu")]
    assert memory.failed(105.0, "again").pause == 115.0
    for _ in range(20):
        memory = memory.failed(0.0, "again")
    assert memory.pause == LONGEST_PAUSE
    assert memory.started(3.0).failures == 0


def test_it_says_what_it_wants_and_why() -> None:
    assert at_once([]).why["cpu"] == "wants 0 of 10: nothing waits"
    many = at_once([Need(waiting=400, seconds=4e5)]).why["cpu"]
    assert many == (
        "wants 100, and may have 10: 400 tasks wait, with 100000 s of work for one governor"
    )


def remembered(wants: list[tuple[float, int]], starts: list[float]) -> ScalingMemory:
    memory = ScalingMemory(starts=tuple(starts))
    for time, size in sorted(wants):
        memory = memory.want(time, size, 60.0)
    return memory


MEMORIES = st.builds(
    remembered,
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 20)), max_size=5),
    st.lists(st.floats(0, 600), max_size=5),
)
NEEDS = st.builds(
    Need,
    st.sampled_from([Resources(1), Resources(3), Resources.of({"cpus": 1, "gpus": 1})]),
    waiting=st.integers(0, 200),
    seconds=st.floats(0, 1e5),
    unknown=st.integers(0, 50),
    running=st.integers(0, 40),
    occupied=st.floats(0, 600),
)
HIRED = st.builds(
    Hired,
    st.uuids().map(str),
    st.sampled_from(["cpu", "gpu"]),
    st.sampled_from(Stage),
    size=st.integers(1, 3),
    idle=st.floats(0, 200),
    left=st.floats(0, 4000),
    sole=st.booleans(),
)
KINDS = st.tuples(st.integers(0, 3), st.integers(3, 12), st.integers(1, 4)).map(
    lambda drawn: (
        evolve(CPU, least=drawn[0], most=drawn[1], largest=drawn[2]),
        evolve(GPU, largest=drawn[2]),
    )
)


def counted(kind: str, hired: list[Hired]) -> int:
    """How many governors of a kind are there, without those that leave."""
    return sum(one.kind == kind and one.stage is not Stage.LEAVING for one in hired)


@given(KINDS, st.lists(NEEDS, max_size=4), st.lists(HIRED, max_size=14), MEMORIES)
def test_bounds_hold_and_there_is_always_progress(
    kinds: tuple[GovernorKind, ...], needs: list[Need], hired: list[Hired], memory: ScalingMemory
) -> None:
    memories = {kind.name: memory for kind in kinds}
    found = decide(Picture(kinds, needs, hired), RULES, memories, 100.0)

    by_name = {one.name: one for one in hired}
    for kind in kinds:
        ours = [one for one in hired if one.kind == kind.name]
        started = [one for one in found.start if one.kind == kind.name]
        assert len(ours) + len(started) <= max(kind.most, len(ours))
        assert all(1 <= one.size <= kind.largest for one in started)
        given_back = [one for one in ours if one.name in (*found.drain, *found.cancel)]
        if given_back:
            assert len(ours) + len(started) - len(given_back) >= kind.least
        waits = any(need.waiting and kind_for(need, kinds) is kind for need in needs)
        if waits and len(ours) < kind.most:
            assert started or any(one.stage is not Stage.LEAVING for one in ours)
        wanted = found.memories[kind.name].wanted
        assert all(a[0] <= b[0] and a[1] > b[1] for a, b in pairwise(wanted))  # later and smaller
    crowded = {kind.name for kind in kinds if counted(kind.name, hired) > kind.most}
    for name in found.drain:
        assert by_name[name].stage is Stage.READY
        assert by_name[name].idle >= RULES.idle or by_name[name].kind in crowded
    for name in found.cancel:
        assert by_name[name].stage in (Stage.QUEUED, Stage.STARTING)
        assert by_name[name].stage is Stage.QUEUED or by_name[name].kind in crowded


@given(KINDS, st.lists(NEEDS, max_size=4), st.lists(HIRED, max_size=14), MEMORIES)
def test_nothing_of_a_kind_is_started_and_given_back_at_once(
    kinds: tuple[GovernorKind, ...], needs: list[Need], hired: list[Hired], memory: ScalingMemory
) -> None:
    memories = {kind.name: memory for kind in kinds}
    found = decide(Picture(kinds, needs, hired), RULES, memories, 100.0)

    of = {one.name: one.kind for one in hired}
    assert not {one.kind for one in found.start} & {
        of[name] for name in (*found.drain, *found.cancel)
    }


@pytest.mark.parametrize("size", [1, 3])
@given(
    work=st.lists(st.floats(0, 1e4), min_size=2, max_size=30),
    step=st.floats(0.5, 20),
    count=st.integers(1, 10),
)
def test_work_that_only_gets_less_is_no_reason_to_ask_again_for_what_was_given_back(
    size: int, work: list[float], step: float, count: int
) -> None:
    kind = evolve(CPU, largest=size)
    hired = [ready(f"g{number}", idle=100.0) for number in range(count)]
    memories: dict[str, ScalingMemory] = {}
    gave_back = False
    for number, seconds in enumerate(sorted(work, reverse=True)):
        needs = [Need(waiting=ceil_of(seconds), seconds=seconds)]
        found = decide(Picture([kind], needs, hired), RULES, memories, number * step)
        memories = found.memories
        assert not (gave_back and found.start)
        gave_back = gave_back or bool(found.drain)
        hired = [one for one in hired if one.name not in found.drain]
        hired += [ready(f"n{number}.{i}", idle=100.0) for i, _ in enumerate(found.start)]


def ceil_of(seconds: float) -> int:
    return int(seconds // 10) + 1


def test_a_governor_of_a_kind_as_it_was_drains_and_the_work_gets_the_new_ones() -> None:
    before = evolve(ready("g0"), outdated=True)
    found = at_once([Need(waiting=1, seconds=9.0)], [before])
    assert found.drain == ["g0"]
    assert found.start == [Start("cpu")]


def test_a_governor_of_a_kind_as_it_was_counts_for_the_limit_until_it_has_left() -> None:
    before = evolve(ready("g0"), outdated=True)
    alone = [evolve(CPU, most=1)]
    assert at_once([Need(waiting=1, seconds=9.0)], [before], alone).start == []
    leaving = evolve(before, stage=Stage.LEAVING)
    assert at_once([Need(waiting=1, seconds=9.0)], [leaving], alone).start == []


def test_jobs_of_a_kind_as_it_was_that_wait_or_start_are_cancelled() -> None:
    hired = [Hired(stage, "cpu", stage, outdated=True) for stage in (Stage.QUEUED, Stage.STARTING)]
    found = at_once([], hired)
    assert (found.cancel, found.drain) == (["queued", "starting"], [])


def test_the_only_data_of_a_kind_as_it_was_waits_for_a_governor_that_takes_it() -> None:
    before = evolve(ready("g0", sole=True), outdated=True)
    assert at_once([], [before]).drain == []
    assert at_once([], [before, ready("g1")]).drain == ["g0"]
    assert at_once([], [before, evolve(ready("g1"), outdated=True)]).drain == ["g1"]


def test_the_only_data_of_a_kind_as_it_was_goes_where_its_place_is_needed() -> None:
    before = evolve(ready("g0", sole=True), outdated=True)
    found = at_once([Need(waiting=1, seconds=9.0)], [before], [evolve(CPU, most=1)])
    assert found.drain == ["g0"]


def test_more_governors_than_a_lower_limit_allows_go_the_idle_ones_first() -> None:
    hired = [ready("busy"), ready("idle", idle=3.0), Hired("waits", "cpu", Stage.QUEUED)]
    work = [Need(waiting=400, seconds=4000.0)]
    found = at_once(work, hired, [evolve(CPU, most=1)])
    assert (found.cancel, found.drain, found.start) == (["waits"], ["idle"], [])


def test_a_kind_that_was_removed_gets_no_work_and_is_named_until_it_has_gone() -> None:
    gone = evolve(GPU, most=0)
    need = Need(Resources.of({"cpus": 1, "gpus": 1}), waiting=3, seconds=30.0)
    before = evolve(ready("g0", kind="gpu"), outdated=True)
    found = at_once([need], [before], [CPU, gone])
    assert (found.start, found.drain) == ([], ["g0"])
    assert found.why["gpu"] == "was removed; governors that have not left: 1"
    assert "gpu" not in at_once([need], [], [CPU, gone]).why
