"""What is asked of Grid Engine, and what is read in its answers."""

from pathlib import Path

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.launchers.grid_engine import options, read_jobs
from rain.launchers.interface import Job, JobState, Standing

QSTAT = """<?xml version='1.0'?>
<job_info xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <queue_info>
    <job_list state="running">
      <JB_job_number>7</JB_job_number><JB_name>rain-governor-0</JB_name><state>r</state>
    </job_list>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>8</JB_job_number><JB_name>rain-governor-1</JB_name><state>qw</state>
    </job_list>
    <job_list state="pending">
      <JB_job_number>9</JB_job_number><JB_name>rain-governor-2</JB_name><state>Eqw</state>
    </job_list>
    <job_list state="pending">
      <JB_job_number>10</JB_job_number><JB_name>rain-governor-3</JB_name><state>hqw</state>
    </job_list>
  </job_info>
</job_info>
"""


JOB = Job("rain-governor-0", "", Path("/home/me"), Path("/home/me/out"))


def test_amounts_become_one_list_of_limits() -> None:
    asked = options(evolve(JOB, memory=2**30, seconds=60, options=("-q", "long")))

    assert asked[11:] == ["-l", "h_vmem=1073741824,h_rt=00:01:00", "-q", "long"]


def test_several_cpus_need_the_parallel_environment_of_the_site() -> None:
    with pytest.raises(StartError, match="for instance -- -pe smp 4"):
        options(evolve(JOB, cpus=4))

    assert options(evolve(JOB, cpus=4, options=("-pe", "smp", "4")))[-3:] == ["-pe", "smp", "4"]
    assert options(evolve(JOB, cpus=1)) == options(JOB)


def test_running_and_pending_jobs_are_found_with_what_keeps_them() -> None:
    assert read_jobs(QSTAT) == {
        "7": Standing(JobState.RUNNING),
        "8": Standing(JobState.QUEUED),
        "9": Standing(JobState.QUEUED, "in error: ask qstat -j"),
        "10": Standing(JobState.QUEUED, "held"),
    }


def test_an_answer_that_is_not_xml_is_refused_by_name() -> None:
    with pytest.raises(StartError, match="qstat -xml cannot be parsed"):
        read_jobs("error: commlib error")
