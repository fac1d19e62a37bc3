"""What the scaler does about its decisions, with a batch system and a server of the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from attrs import Factory, define, evolve

from rain.base.errors import StartError
from rain.base.governors import GovernorRow
from rain.base.ids import GovernorId
from rain.base.resources import Resources
from rain.base.wire.demand import Demand, Load, Need
from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.surroundings import Surroundings
from rain.scaling.picture import GovernorKind
from rain.start.scaler import Scaler
from rain.start.scaling_files import (
    ANY_NUMBER,
    ANY_PLACE,
    KindOrder,
    ScalerOrder,
    ScalingState,
    read_order,
    read_state,
    scaled_jobs,
    write_order,
    write_state,
)
from rain.start.scaling_plan import with_kind, without_kind

WORK = (Need(waiting=8, seconds=8000.0),)
RUNS = Standing(JobState.RUNNING)


@define
class Batch:
    """A batch system that does what the test says."""

    refuses: str = ""
    standings: dict[str, Standing] = Factory(dict)
    jobs: list[Job] = Factory(list)
    drained: list[str] = Factory(list)
    cancelled: list[str] = Factory(list)
    name: str = "batch"
    cpus_variable: str = ""

    def submit(self, job: Job) -> str:
        if self.refuses:
            raise StartError(self.refuses)
        self.jobs.append(job)
        number = str(100 + len(self.jobs))
        self.standings[number] = Standing(JobState.QUEUED, "Resources")
        return number

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        return {number: self.standings[number] for number in numbers if number in self.standings}

    def drain(self, numbers: Sequence[str]) -> None:
        self.drained += numbers

    def cancel(self, numbers: Sequence[str]) -> None:
        self.cancelled += numbers


@define
class Stage:
    """A scaler, its batch system, and the governors that have joined."""

    folder: Path
    batch: Batch
    scaler: Scaler
    loads: dict[str, Load] = Factory(dict)
    now: float = 1000.0

    def look(self, needs: Sequence[Need] = (), after: float = 1.0) -> None:
        self.now += after
        self.scaler.look(Demand(tuple(needs), tuple(self.loads.values())), self.now)

    def join(self, name: str, tasks: int = 1, row: GovernorRow = GovernorRow.WORKS) -> None:
        """The governor of a job is there, or has changed."""
        number = int(name.rpartition("-")[2])
        said = f"node\nready 0.0.0.0:1\nnote incarnation {number + 50}\n"
        (self.folder / f"{name}.ready").write_text(said)
        self.loads[name] = Load(GovernorId(number + 50), Resources(4), tasks, row)

    @property
    def names(self) -> list[str]:
        return [job.name for job in self.scaler.state.jobs]

    @property
    def why(self) -> str:
        return self.scaler.state.says["batch"]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    batch = Batch()
    draft = Job(
        f"rain-governor-{ANY_NUMBER}",
        f"exec rain governor --logdir logs/governor-{ANY_NUMBER}",
        tmp_path,
        tmp_path / f"governor-{ANY_NUMBER}.out",
        cpus=4,
    )
    order = ScalerOrder(
        (KindOrder(GovernorKind("batch", Resources(4), most=5), "batch", (draft,)),)
    )
    return Stage(tmp_path, batch, Scaler(order, tmp_path, ScalingState(), {"batch": batch}))


def test_work_that_waits_gets_jobs_of_their_own_names(stage: Stage) -> None:
    stage.look(WORK)

    assert stage.names == ["governor-0", "governor-1"]
    assert stage.batch.jobs[1].name == "rain-governor-1"
    assert stage.batch.jobs[1].script == "exec rain governor --logdir logs/governor-1"
    assert stage.batch.jobs[1].output == stage.folder / "governor-1.out"
    assert stage.scaler.promise.governors == (Resources(4),)
    stage.look(WORK)
    assert len(stage.batch.jobs) == 2
    assert stage.scaler.promise.says == (
        "job 101 is queued (Resources); job 102 is queued (Resources)"
    )


def test_what_was_idle_for_long_drains_and_is_forgotten_when_its_job_has_ended(
    stage: Stage,
) -> None:
    stage.look(WORK)
    for name in ("governor-0", "governor-1"):
        stage.join(name)
    stage.look(WORK)
    stage.join("governor-0", tasks=0)
    stage.look([Need(running=1, occupied=1.0)])
    assert stage.batch.drained == []
    stage.look([Need(running=1, occupied=1.0)], after=61.0)
    assert stage.batch.drained == ["101"]
    stage.join("governor-0", tasks=0, row=GovernorRow.DRAINS)
    stage.look([Need(running=1, occupied=1.0)])
    del stage.loads["governor-0"], stage.batch.standings["101"]
    stage.look([Need(running=1, occupied=1.0)], after=20.0)

    assert stage.names == ["governor-1"]
    assert stage.scaler.state.ended == {"governor-0 (job 101)": "was released"}
    assert stage.batch.cancelled == []


def test_a_governor_that_does_not_leave_is_cancelled_in_the_end(stage: Stage) -> None:
    stage.look(WORK)
    for name in stage.names:
        stage.join(name, tasks=0)
    stage.look()
    stage.look(after=61.0)
    assert stage.batch.drained == ["101", "102"]
    stage.look(after=121.0)
    assert stage.batch.cancelled == ["101", "102"]


def test_a_refusal_is_told_in_the_words_of_the_batch_system_and_tried_again_later(
    stage: Stage,
) -> None:
    stage.batch.refuses = "sbatch has ended with status 1: invalid partition"
    stage.look(WORK)
    stage.look(WORK)
    assert "starts none for 4 s, since sbatch has ended with status 1: invalid" in stage.why
    assert stage.scaler.promise.says == "sbatch has ended with status 1: invalid partition"
    stage.batch.refuses = ""
    stage.look(WORK, after=3.0)
    assert stage.names == []
    stage.look(WORK, after=1.0)
    assert len(stage.names) == 2


def test_jobs_that_end_before_their_governors_are_there_make_the_next_ones_wait(
    stage: Stage,
) -> None:
    stage.look(WORK)
    for number in ("101", "102"):
        stage.batch.standings[number] = Standing(JobState.ENDED, "status 127")
    (stage.folder / "governor-1.out").write_text("rain: command not found\n")
    stage.look(WORK)

    assert stage.names == []
    assert "since job 102 has ended before its time: status 127: rain: command not found" in (
        stage.why
    )
    stage.look(WORK, after=9.0)
    assert stage.names == []  # two failures in a row: ten seconds
    stage.look(WORK, after=1.0)
    assert len(stage.names) == 2


def test_a_job_that_was_killed_in_its_work_is_replaced_at_once(stage: Stage) -> None:
    stage.look(WORK)
    for name in stage.names:
        stage.join(name)
    stage.look(WORK)
    stage.look(WORK, after=100.0)
    del stage.loads["governor-0"]
    stage.batch.standings["101"] = Standing(JobState.ENDED, "cancelled")
    stage.look(WORK)

    assert stage.names == ["governor-1", "governor-2"]
    assert stage.scaler.state.ended == {"governor-0 (job 101)": "cancelled"}


def test_a_job_that_the_batch_system_does_not_know_yet_counts_as_queued(stage: Stage) -> None:
    stage.look(WORK)
    stage.batch.standings.clear()
    stage.look(WORK, after=2.0)
    assert len(stage.names) == 2
    stage.look(WORK, after=10.0)
    assert stage.names == []


def test_the_next_scaler_goes_on_with_the_jobs_of_the_one_before(stage: Stage) -> None:
    write_order(stage.folder, stage.scaler.order)
    stage.look(WORK)
    stage.join("governor-0")
    stage.look(WORK)
    write_state(stage.folder, stage.scaler.state)
    state = read_state(stage.folder)
    assert state is not None
    stage.scaler = Scaler(read_order(stage.folder), stage.folder, state, {"batch": stage.batch})
    stage.look(WORK)

    assert stage.names == ["governor-0", "governor-1"]
    assert [job.number for job in scaled_jobs(stage.folder)] == ["101", "102"]
    assert len(stage.batch.jobs) == 2


def test_a_kind_that_was_added_gets_the_work_that_needs_it_under_its_own_name(
    stage: Stage,
) -> None:
    away, gpus = stage.folder / "away", Resources(4, (("gpus", 2),))
    away.mkdir()
    draft = Job(f"rain-gpu-{ANY_NUMBER}", "exec", stage.folder, away / f"gpu-{ANY_NUMBER}.out")
    batch, kind = Batch(), GovernorKind("gpu", gpus, most=4, idle=10.0)
    more = KindOrder(kind, "batch", (draft,), "gpu")
    stage.look(WORK[:1])
    write_order(stage.folder, ScalerOrder((*stage.scaler.order.kinds, more)))
    stage.scaler.take(read_order(stage.folder), {"batch": stage.batch, "gpu": batch})
    need = Need(Resources(1, (("gpus", 1),)), waiting=1, seconds=100.0)
    stage.look([*WORK, need])

    assert stage.names == ["governor-0", "governor-1", "gpu-2"]
    assert [job.name for job in batch.jobs] == ["rain-gpu-2"]
    assert stage.scaler.promise.governors == (Resources(4), gpus)
    write_state(stage.folder, stage.scaler.state)
    assert [job.log_folder for job in scaled_jobs(stage.folder)] == [stage.folder] * 2 + [away]
    # It is ready where the logs of its kind are, and ends by the idle time of its kind.
    (away / "gpu-2.ready").write_text("node\nready 0.0.0.0:1\nnote incarnation 77\n")
    stage.loads["gpu-2"] = Load(GovernorId(77), gpus, 0)
    stage.look(WORK)
    stage.look(WORK, after=11.0)
    assert (batch.drained, stage.batch.drained) == (["101"], [])


def test_each_host_has_one_governor_and_one_that_fails_is_tried_last(stage: Stage) -> None:
    (known,) = stage.scaler.order.kinds
    kind = evolve(known.kind, most=3)
    draft = evolve(known.drafts[0], script=f"ssh {ANY_PLACE} /bin/sh")
    hosts = evolve(known, kind=kind, drafts=(draft,), places=("n1", "me@n 2", "n3", "n4"))
    stage.scaler.take(ScalerOrder((hosts,)), {"batch": stage.batch})
    much = [Need(waiting=80, seconds=80000.0)]
    stage.look(much)
    assert [job.script for job in stage.batch.jobs] == [
        "ssh n1 /bin/sh",
        "ssh 'me@n 2' /bin/sh",
        "ssh n3 /bin/sh",
    ]
    assert [job.place for job in stage.scaler.state.jobs] == ["n1", "me@n 2", "n3"]
    # A host that cannot be reached comes after the one that was not tried yet.
    stage.batch.standings["101"] = Standing(JobState.ENDED, "status 255")
    stage.look(much)
    stage.look(much, after=5.0)
    assert [job.place for job in stage.scaler.state.jobs] == ["me@n 2", "n3", "n4"]
    stage.batch.standings["103"] = Standing(JobState.ENDED, "status 255")
    stage.look(much)
    stage.look(much, after=10.0)
    assert [job.place for job in stage.scaler.state.jobs] == ["me@n 2", "n4", "n1"]


def test_governors_that_were_added_keep_their_names(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(_: Scaler) -> set[str]:
        return {"governor-0", "governor-2"}

    monkeypatch.setattr(Scaler, "_taken", taken)
    stage.look(WORK)
    assert stage.names == ["governor-1", "governor-3"]


def test_when_the_server_has_gone_the_jobs_that_wait_are_cancelled(stage: Stage) -> None:
    stage.look(WORK)
    stage.scaler.cancel_all()

    assert stage.batch.cancelled == ["101", "102"]


def test_what_a_governor_was_found_to_have_is_what_the_next_ones_promise(stage: Stage) -> None:
    stage.look(WORK)
    stage.join("governor-0")
    stage.loads["governor-0"] = Load(GovernorId(50), Resources(4, (("gpus", 1),)), 1)
    stage.look([Need(Resources(1, (("gpus", 1),)), waiting=3, seconds=3000.0)])

    assert stage.scaler.promise.governors == (Resources(4, (("gpus", 1),)),)
    assert len(stage.names) == 3


def changed(stage: Stage, cpus: int) -> ScalerOrder:
    """The order with other cpus for the governors of its kind."""
    (one,) = stage.scaler.order.kinds
    (draft,) = one.drafts
    kind = evolve(one.kind, resources=Resources(cpus))
    return with_kind(stage.scaler.order, evolve(one, kind=kind, drafts=(evolve(draft, cpus=cpus),)))


def test_a_kind_that_changes_lets_its_governors_drain_and_starts_others(stage: Stage) -> None:
    stage.look(WORK)
    stage.join("governor-0")
    stage.look(WORK)
    stage.scaler.take(changed(stage, 8), {"batch": stage.batch})
    stage.look(WORK)
    assert (stage.batch.drained, stage.batch.cancelled) == (["101"], ["102"])
    assert [job.cpus for job in stage.batch.jobs] == [4, 4, 8]
    assert stage.scaler.promise.governors == (Resources(8),)  # not what the old one had


def test_a_job_has_all_of_its_draft_for_launchers_that_run_no_script(tmp_path: Path) -> None:
    around = Surroundings("module load python", environment=(("A", "1"),), container="x.sif")
    draft = Job(
        f"gpu-{ANY_NUMBER}",
        "exec rain",
        tmp_path,
        tmp_path / f"gpu-{ANY_NUMBER}.out",
        governor=("governor", "head:1", "--workdir", f"w/gpu-{ANY_NUMBER}"),
        around=around,
    )
    order = ScalerOrder((KindOrder(GovernorKind("gpu", Resources(4)), "batch", (draft,)),))
    write_order(tmp_path, order)
    assert read_order(tmp_path) == order
    job = read_order(tmp_path).kind("gpu").job(7, 1)
    assert job.governor == ("governor", "head:1", "--workdir", "w/gpu-7")
    assert (job.name, job.around) == ("gpu-7", around)


def test_a_kind_that_is_what_it_was_keeps_its_governors(tmp_path: Path) -> None:
    draft = Job("gpu", "exec rain", tmp_path, tmp_path / "gpu.out", 4, governor=("--cpus", "4"))
    one = KindOrder(GovernorKind("gpu", Resources(4), most=5), "batch", (draft,))
    write_order(tmp_path, ScalerOrder((one,)))
    before = read_order(tmp_path)
    assert with_kind(before, evolve(one, kind=evolve(one.kind, most=3))).kind("gpu").version == 0
    other = evolve(one, drafts=(evolve(draft, options=("--partition=long",)),))
    assert with_kind(before, other).kind("gpu").version == 1


def test_another_scaler_knows_which_jobs_are_of_the_kind_as_it_was(stage: Stage) -> None:
    stage.look(WORK)
    stage.join("governor-0")
    stage.look(WORK)
    write_order(stage.folder, changed(stage, 8))
    write_state(stage.folder, stage.scaler.state)
    state = read_state(stage.folder)
    assert state is not None
    stage.scaler = Scaler(read_order(stage.folder), stage.folder, state, {"batch": stage.batch})
    stage.look(WORK)
    assert stage.batch.drained == ["101"]


def test_limits_change_under_the_governors_that_are_there(stage: Stage) -> None:
    stage.look(WORK)
    stage.join("governor-0")
    (one,) = stage.scaler.order.kinds
    order = with_kind(stage.scaler.order, evolve(one, kind=evolve(one.kind, most=1, idle=5.0)))
    stage.scaler.take(order, {"batch": stage.batch})
    stage.look(WORK)
    assert (stage.batch.drained, stage.batch.cancelled) == ([], ["102"])  # one is allowed


def test_a_governor_on_a_host_that_is_not_in_the_list_any_more_drains(stage: Stage) -> None:
    (one,) = stage.scaler.order.kinds
    hosts = ScalerOrder((evolve(one, places=("a", "b"), kind=evolve(one.kind, most=1)),))
    stage.scaler.take(hosts, {"batch": stage.batch})
    stage.look(WORK)
    stage.join("governor-0")
    stage.look(WORK)
    assert [job.place for job in stage.scaler.state.jobs] == ["a"]
    fewer = with_kind(hosts, evolve(hosts.kinds[0], places=("b",)))
    stage.scaler.take(fewer, {"batch": stage.batch})
    stage.look(WORK)
    assert stage.batch.drained == ["101"]


def test_a_kind_that_was_removed_is_promised_no_more_and_comes_again(stage: Stage) -> None:
    stage.look(WORK)
    stage.join("governor-0")
    stage.look(WORK)
    before = stage.scaler.order
    stage.scaler.take(without_kind(before, "batch"), {"batch": stage.batch})
    stage.look(WORK)
    assert (stage.batch.drained, stage.batch.cancelled) == (["101"], ["102"])
    assert stage.scaler.promise.governors == ()
    assert stage.why == "was removed; governors that have not left: 2"
    with pytest.raises(StartError, match="no kind 'batch' of governors that scales: none"):
        without_kind(stage.scaler.order, "batch")
    stage.scaler.take(with_kind(stage.scaler.order, before.kinds[0]), {"batch": stage.batch})
    stage.look(WORK)
    assert stage.names == ["governor-0", "governor-1", "governor-2", "governor-3"]
