"""What is asked of PBS and of LSF, and what is read in their answers."""

import json
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.launchers import lsf, pbs
from rain.launchers.interface import Job, JobState, Standing

JOB = Job(
    "rain-governor-0",
    "",
    Path("/home/me"),
    Path("/home/me/out"),
    cpus=4,
    memory=2**30,
    gpus=1,
    seconds=5430,
    options=("-q", "long"),
)


def test_pbs_gets_one_chunk_with_all_amounts() -> None:
    assert pbs.options(JOB)[8:] == [
        *("-l", "select=1:ncpus=4:mem=1048576kb:ngpus=1"),
        *("-l", "walltime=01:30:30"),
        *("-q", "long"),
    ]


def test_the_states_of_pbs_are_understood() -> None:
    jobs = {
        "1.head": {"job_state": "Q", "comment": "not enough ncpus"},
        "2.head": {"job_state": "R"},
        "3.head": {"job_state": "F", "Exit_status": 0, "comment": "finished"},
        "4.head": {"job_state": "F", "Exit_status": 271},
    }

    assert pbs.read_jobs(json.dumps({"Jobs": jobs})) == {
        "1.head": Standing(JobState.QUEUED, "not enough ncpus"),
        "2.head": Standing(JobState.RUNNING),
        "3.head": Standing(JobState.ENDED, "finished"),
        "4.head": Standing(JobState.ENDED, "status 271"),
    }
    assert pbs.read_jobs("") == {}


def test_lsf_gets_all_cpus_on_one_host_and_a_limit_in_whole_minutes() -> None:
    assert lsf.options(JOB)[6:] == [
        *("-n", "4", "-R", "span[hosts=1]"),
        *("-M", "1048576KB"),
        *("-gpu", "num=1"),
        *("-W", "1:31"),
        *("-q", "long"),
    ]


def test_the_states_of_lsf_are_understood() -> None:
    records = [
        {"JOBID": "1", "STAT": "PEND", "PEND_REASON": "no free slots"},
        {"JOBID": "2", "STAT": "RUN"},
        {"JOBID": "3", "STAT": "DONE", "EXIT_CODE": ""},
        {"JOBID": "4", "STAT": "EXIT", "EXIT_CODE": "9", "EXIT_REASON": ""},
        {"JOBID": "5", "ERROR": "Job <5> is not found"},
    ]

    assert lsf.read_jobs(json.dumps({"RECORDS": records})) == {
        "1": Standing(JobState.QUEUED, "no free slots"),
        "2": Standing(JobState.RUNNING),
        "3": Standing(JobState.ENDED),
        "4": Standing(JobState.ENDED, "status 9"),
    }


@pytest.mark.parametrize("read", [pbs.read_jobs, lsf.read_jobs])
def test_an_answer_that_is_not_json_is_refused_by_name(read: object) -> None:
    assert callable(read)
    with pytest.raises(StartError, match="cannot be parsed"):
        read("no server")
