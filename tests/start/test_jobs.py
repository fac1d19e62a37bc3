"""Governors that are jobs of a batch system: how far they are, and that none is left over."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from attrs import Factory, define

from rain.base.errors import StartError
from rain.launchers import registry
from rain.launchers.interface import Job, JobState, Standing
from rain.start.clusters import JobEntry
from rain.start.governors import BatchGovernors
from rain.start.jobs import JobLine, JobSubmission, look, read_address
from rain.start.plan import PlannedDaemon, Settings, plan_governors
from tests.start.world import RAIN


@define
class Batch:
    """A batch system that takes as many jobs as it is told to, and remembers all of it."""

    takes: int = 10
    answers: bool = True
    standings: dict[str, Standing] = Factory(dict)
    jobs: list[Job] = Factory(list)
    cancelled: list[str] = Factory(list)
    name: str = "batch"
    cpus_variable: str = "BATCH_CPUS"

    def submit(self, job: Job) -> str:
        if len(self.jobs) == self.takes:
            raise StartError("your quota is used up")
        self.jobs.append(job)
        return str(len(self.jobs))

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        return {number: self.standings[number] for number in numbers if number in self.standings}

    def cancel(self, numbers: Sequence[str]) -> None:
        if not self.answers:
            raise StartError("no answer")
        self.cancelled += numbers


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> Batch:
    made = Batch()

    def offered() -> Batch:
        return made

    monkeypatch.setitem(registry.OURS, "batch", offered)
    return made


def line(folder: Path, standing: Standing | None) -> JobLine:
    batch = Batch(standings={} if standing is None else {"7": standing})
    (found,) = look(batch, [JobEntry("governor-0", "7", "batch", folder)])
    return found


def test_a_job_that_waits_says_why(tmp_path: Path) -> None:
    found = line(tmp_path, Standing(JobState.QUEUED, "Resources"))

    assert found == JobLine("governor-0", "7", "queued", why="Resources")


def test_a_job_runs_when_its_governor_is_ready_and_starts_until_then(tmp_path: Path) -> None:
    runs = Standing(JobState.RUNNING)
    ready = tmp_path / "governor-0.ready"
    found = [line(tmp_path, runs)]
    ready.write_text("node7\n")
    found.append(line(tmp_path, runs))
    ready.write_text("node7\nready 0.0.0.0:4711\n")
    found.append(line(tmp_path, runs))

    assert [one.state for one in found] == ["starting", "starting", "running"]
    assert found[-1].address == "node7:4711"


def test_a_governor_that_listens_at_one_address_is_shown_with_it(tmp_path: Path) -> None:
    file = tmp_path / "governor-0.ready"
    file.write_text("node7\nready 10.0.0.7:4711\n")

    assert read_address(file) == "10.0.0.7:4711"


def test_an_ended_job_is_shown_with_the_last_words_of_its_governor(tmp_path: Path) -> None:
    (tmp_path / "governor-0.out").write_text("joining\nrain: no server at head:7210\n\n")

    log = tmp_path / "governor-0.out"
    found = line(tmp_path, Standing(JobState.ENDED, "failed, status 1"))
    forgotten = line(tmp_path, None)

    assert found.why == "failed, status 1: rain: no server at head:7210"
    assert (forgotten.state, forgotten.why) == ("ended", "rain: no server at head:7210")

    log.write_text("2026-01-01T00:00:00Z [info     ] governor ready\n")
    assert not line(tmp_path, None).why


def planned(folder: Path) -> tuple[tuple[PlannedDaemon, ...], BatchGovernors]:
    """Two governors of a batch system, and how they were asked for."""
    governors = BatchGovernors("batch", 2)
    settings = Settings(governors, RAIN, folder, secret_file=folder / "secret")
    return plan_governors(settings, "head:7210"), governors


def test_the_governor_of_a_job_knows_where_the_secret_is_and_never_the_secret(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").write_text("correct horse battery")

    daemons, _ = planned(tmp_path)

    assert daemons[1].command == (
        *RAIN,
        *("governor", "head:7210", "--listen", "0.0.0.0:0"),
        *("--secret-file", str(tmp_path / "secret"), "--logdir", str(tmp_path / "governor-1")),
    )


def test_when_one_job_is_refused_those_before_it_are_cancelled(
    tmp_path: Path, batch: Batch
) -> None:
    batch.takes = 1
    daemons, governors = planned(tmp_path)

    with pytest.raises(StartError, match="quota"), JobSubmission() as submission:
        submission.submit(daemons, governors, tmp_path)

    assert batch.cancelled == ["1"]


def test_jobs_that_cannot_be_cancelled_are_named_beside_what_went_wrong_first(
    tmp_path: Path, batch: Batch
) -> None:
    batch.takes, batch.answers = 1, False
    daemons, governors = planned(tmp_path)

    with (
        pytest.raises(StartError, match=r"quota is used up\nthe jobs 1 may go on: no answer"),
        JobSubmission() as submission,
    ):
        submission.submit(daemons, governors, tmp_path)


def test_jobs_that_are_kept_go_on(tmp_path: Path, batch: Batch) -> None:
    daemons, governors = planned(tmp_path)

    with JobSubmission() as submission:
        submission.submit(daemons, governors, tmp_path)
        submission.keep()

    assert submission.entries == [
        JobEntry("governor-0", "1", "batch", tmp_path),
        JobEntry("governor-1", "2", "batch", tmp_path),
    ]
    assert [job.name for job in batch.jobs] == ["rain-governor-0", "rain-governor-1"]
    assert not batch.cancelled
