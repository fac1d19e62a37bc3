"""What is asked of Slurm, and what is read in its answers."""

from pathlib import Path

import pytest
from attrs import evolve

from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.slurm import options, read_job

JOB = Job("rain-governor-0", "", Path("/home/me"), Path("/home/me/out"))


def test_a_job_without_wishes_leaves_all_amounts_to_slurm() -> None:
    assert options(JOB) == [
        "--job-name=rain-governor-0",
        "--chdir=/home/me",
        "--output=/home/me/out",
        "--open-mode=append",
        "--ntasks=1",
    ]


def test_all_that_is_asked_for_becomes_an_option_and_those_of_the_user_come_last() -> None:
    asked = options(
        evolve(
            JOB, cpus=16, memory=2**30 + 1, gpus=2, seconds=5400, options=("--partition", "long")
        )
    )

    assert asked[5:] == [
        "--cpus-per-task=16",
        "--mem=1048577K",
        "--gres=gpu:2",
        "--time=01:30:00",
        "--partition",
        "long",
    ]


@pytest.mark.parametrize(
    ("line", "standing"),
    [
        ("JobState=PENDING Reason=Resources ExitCode=0:0", (JobState.QUEUED, "Resources")),
        ("JobState=PENDING Reason=None ExitCode=0:0", (JobState.QUEUED, "")),
        ("JobState=CONFIGURING Reason=None ExitCode=0:0", (JobState.QUEUED, "configuring")),
        ("JobState=RUNNING Reason=None ExitCode=0:0", (JobState.RUNNING, "")),
        ("JobState=COMPLETING Reason=None ExitCode=0:0", (JobState.RUNNING, "completing")),
        ("JobState=COMPLETED Reason=None ExitCode=0:0", (JobState.ENDED, "completed")),
        ("JobState=FAILED Reason=None ExitCode=3:0", (JobState.ENDED, "failed, status 3")),
        ("JobState=CANCELLED Reason=None ExitCode=0:15", (JobState.ENDED, "cancelled, signal 15")),
        ("JobState=TIMEOUT Reason=TimeLimit ExitCode=0:0", (JobState.ENDED, "timeout, TimeLimit")),
        (
            "JobState=NODE_FAIL Reason=NodeDown ExitCode=0:0",
            (JobState.ENDED, "node_fail, NodeDown"),
        ),
    ],
)
def test_each_state_of_a_job_is_understood(line: str, standing: tuple[JobState, str]) -> None:
    assert read_job(f"JobId=7 JobName=rain-governor-0 {line} NodeList=n1") == Standing(*standing)
