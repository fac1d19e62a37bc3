"""PBS: `qsub`, `qstat`, `qdel` (OpenPBS, PBS Professional)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rain.base.durations import spell_duration
from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.tool import call

_QUEUED = frozenset("QHWTM")
_RUNNING = frozenset("RESUB")


class Pbs:
    """The launcher `pbs`."""

    name = "pbs"
    cpus_variable = "NCPUS"

    def submit(self, job: Job) -> str:
        number = call(["qsub", *options(job)], job.script).strip()
        if not number[:1].isdecimal():
            raise StartError(f"qsub has printed no job number, but {number!r}")
        return number

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        # -x has those that have ended, too; the command fails if one is unknown, and names others.
        return read_jobs(call(["qstat", "-x", "-f", "-F", "json", *numbers], may_fail=True))

    def cancel(self, numbers: Sequence[str]) -> None:
        call(["qdel", *numbers], may_fail=True)  # it fails for jobs that have ended

    def drain(self, numbers: Sequence[str]) -> None:
        """Lets governors leave in order."""
        call(["qsig", "-s", "SIGUSR2", *numbers], may_fail=True)


def options(job: Job) -> list[str]:
    """The options of `qsub`. A script of PBS begins in the home folder and enters its own."""
    found = ["-N", job.name, "-S", "/bin/sh", "-j", "oe", "-o", str(job.output)]
    chunk = ["1"]
    if job.cpus is not None:
        chunk.append(f"ncpus={job.cpus}")
    if job.memory is not None:
        chunk.append(f"mem={-(-job.memory // 1024)}kb")
    if job.gpus is not None:
        chunk.append(f"ngpus={job.gpus}")
    if len(chunk) > 1:
        found += ["-l", f"select={':'.join(chunk)}"]
    if job.seconds is not None:
        found += ["-l", f"walltime={spell_duration(job.seconds)}"]
    return [*found, *job.options]


def read_jobs(text: str) -> dict[str, Standing]:
    """Reads what `qstat -f -F json` prints."""
    try:
        jobs: dict[str, dict[str, Any]] = json.loads(text or "{}").get("Jobs", {})
        return {number: _standing(told) for number, told in jobs.items()}
    except (ValueError, AttributeError) as error:
        raise StartError(f"the answer of qstat -F json cannot be parsed: {error}") from error


def _standing(told: Mapping[str, Any]) -> Standing:
    letter, comment = str(told.get("job_state", "")), str(told.get("comment", ""))
    if letter in _QUEUED:
        return Standing(JobState.QUEUED, comment)
    if letter in _RUNNING:
        return Standing(JobState.RUNNING)
    status = told.get("Exit_status")
    return Standing(JobState.ENDED, comment if status in {None, 0} else f"status {status}")
