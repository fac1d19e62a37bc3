"""Jobs that are processes of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Standing, let_drain
from rain.launchers.local import LocalJobs
from rain.launchers.registry import find_launcher, launcher_names
from tests.support.waiting import until_now

RUNS = Standing(JobState.RUNNING)


def job(folder: Path, script: str) -> Job:
    return Job("test", script, folder, folder / "out")


def standing(launcher: LocalJobs, number: str) -> Standing:
    return launcher.look([number])[number]


def ended(launcher: LocalJobs, number: str) -> Standing | None:
    found = standing(launcher, number)
    return found if found.state is JobState.ENDED else None


def test_a_job_that_fails_says_how_and_what_it_has_printed(tmp_path: Path) -> None:
    launcher = LocalJobs()
    number = launcher.submit(job(tmp_path, "echo no such module; exit 3"))

    assert until_now(lambda: ended(launcher, number)) == Standing(JobState.ENDED, "status 3")
    assert (tmp_path / "out").read_text() == "no such module\n"


def test_another_process_knows_the_job_by_its_number(tmp_path: Path) -> None:
    launcher, other = LocalJobs(), LocalJobs()
    number = launcher.submit(job(tmp_path, "exec sleep 60"))

    assert standing(other, number) == RUNS
    other.cancel([number])
    assert until_now(lambda: ended(launcher, number)) == Standing(JobState.ENDED, "signal 15")
    assert standing(other, number) == Standing(JobState.ENDED)


def test_a_job_that_is_to_leave_gets_the_signal_for_that(tmp_path: Path) -> None:
    launcher = LocalJobs()
    number = launcher.submit(
        job(
            tmp_path,
            f"cd {tmp_path}; trap 'exit 7' USR2; echo set >ready; while :; do sleep 0.05; done",
        )
    )
    until_now((tmp_path / "ready").exists)
    let_drain(launcher, [number])

    assert until_now(lambda: ended(launcher, number)) == Standing(JobState.ENDED, "status 7")


def test_a_process_that_was_started_later_under_the_same_number_is_left_alone(
    tmp_path: Path,
) -> None:
    launcher = LocalJobs()
    number = launcher.submit(job(tmp_path, "exec sleep 60"))
    earlier = f"{number.partition('.')[0]}.1"

    launcher.cancel([earlier])
    assert standing(launcher, earlier) == Standing(JobState.ENDED)
    assert standing(launcher, number) == RUNS
    launcher.cancel([number])
    until_now(lambda: ended(launcher, number))


def test_a_job_that_cannot_be_started_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="test cannot be started"):
        LocalJobs().submit(Job("test", "exit 0", tmp_path, tmp_path / "nowhere" / "out"))


def test_it_is_found_by_its_name_and_is_no_batch_system() -> None:
    assert isinstance(find_launcher("local"), LocalJobs)
    assert "local" not in launcher_names()
