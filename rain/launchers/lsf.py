"""LSF: `bsub`, `bjobs`, `bkill`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.tool import call

_SUBMITTED = re.compile(r"Job <(\d+)>")
_QUEUED = frozenset({"PEND", "PSUSP", "WAIT", "PROV"})
_RUNNING = frozenset({"RUN", "USUSP", "SSUSP", "UNKWN"})


class Lsf:
    """The launcher `lsf`."""

    name = "lsf"
    cpus_variable = "LSB_DJOB_NUMPROC"

    def submit(self, job: Job) -> str:
        said = call(["bsub", *options(job)], job.script)
        found = _SUBMITTED.search(said)
        if found is None:
            raise StartError(f"bsub has printed no job number, but {said.strip()!r}")
        return found[1]

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        fields = "jobid stat pend_reason exit_reason exit_code"
        return read_jobs(call(["bjobs", "-a", "-json", "-o", fields, *numbers], may_fail=True))

    def cancel(self, numbers: Sequence[str]) -> None:
        call(["bkill", *numbers], may_fail=True)  # it fails for jobs that have ended

    def drain(self, numbers: Sequence[str]) -> None:
        """Lets governors leave in order."""
        call(["bkill", "-s", "USR2", *numbers], may_fail=True)


def options(job: Job) -> list[str]:
    """The options of `bsub`. All cpus of a job are on one host; time limits have no seconds."""
    found = ["-J", job.name, "-cwd", str(job.folder), "-o", str(job.output)]
    if job.cpus is not None:
        found += ["-n", str(job.cpus), "-R", "span[hosts=1]"]
    if job.memory is not None:
        found += ["-M", f"{-(-job.memory // 1024)}KB"]
    if job.gpus is not None:
        found += ["-gpu", f"num={job.gpus}"]
    if job.seconds is not None:
        hours, minutes = divmod(-(-job.seconds // 60), 60)
        found += ["-W", f"{hours}:{minutes:02}"]
    return [*found, *job.options]


def read_jobs(text: str) -> dict[str, Standing]:
    """Reads what `bjobs -json` prints."""
    try:
        records: list[dict[str, Any]] = json.loads(text or "{}").get("RECORDS", [])
        return {str(told["JOBID"]): _standing(told) for told in records if "STAT" in told}
    except (ValueError, AttributeError, KeyError) as error:
        raise StartError(f"the answer of bjobs -json cannot be parsed: {error}") from error


def _standing(told: Mapping[str, Any]) -> Standing:
    word = str(told["STAT"])
    if word in _QUEUED:
        return Standing(JobState.QUEUED, str(told.get("PEND_REASON", "")))
    if word in _RUNNING:
        return Standing(JobState.RUNNING)
    reason, code = str(told.get("EXIT_REASON", "")), str(told.get("EXIT_CODE", ""))
    return Standing(JobState.ENDED, reason or (f"status {code}" if code else ""))
