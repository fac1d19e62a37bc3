"""Slurm: `sbatch`, `squeue`, `scontrol`, `scancel`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rain.base.durations import spell_duration
from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.tool import call

_STATES = {
    "PENDING": JobState.QUEUED,
    "CONFIGURING": JobState.QUEUED,
    "REQUEUED": JobState.QUEUED,
    "REQUEUE_HOLD": JobState.QUEUED,
    "SPECIAL_EXIT": JobState.QUEUED,
    "RUNNING": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
}  # whatever else there is, is an end


class Slurm:
    """The launcher `slurm`."""

    name = "slurm"
    cpus_variable = "SLURM_CPUS_ON_NODE"

    def submit(self, job: Job) -> str:
        said = call(["sbatch", "--parsable", *options(job)], job.script)
        number = said.strip().partition(";")[0]
        if not number.isdecimal():
            raise StartError(f"sbatch has printed no job number, but {said.strip()!r}")
        return number

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        found: dict[str, Standing] = {}
        for number in numbers:  # with several numbers, one that is unknown hides the others
            text = call(["scontrol", "show", "job", "--oneliner", number], may_fail=True)
            if text.startswith("JobId="):
                found[number] = read_job(text)
        return found

    def cancel(self, numbers: Sequence[str]) -> None:
        call(["scancel", "--quiet", *numbers])

    def drain(self, numbers: Sequence[str]) -> None:
        """Lets governors leave in order."""
        call(["scancel", "--quiet", "--batch", "--signal=USR2", *numbers])


def options(job: Job) -> list[str]:
    """The options of `sbatch`. Those of the user come last, since the last one counts."""
    found = [
        f"--job-name={job.name}",
        f"--chdir={job.folder}",
        f"--output={job.output}",
        "--open-mode=append",
        "--ntasks=1",
    ]
    if job.cpus is not None:
        found.append(f"--cpus-per-task={job.cpus}")
    if job.memory is not None:
        found.append(f"--mem={-(-job.memory // 1024)}K")
    if job.gpus is not None:
        found.append(f"--gres=gpu:{job.gpus}")
    if job.seconds is not None:
        found.append(f"--time={spell_duration(job.seconds)}")
    return [*found, *job.options]


def read_job(text: str) -> Standing:
    """Reads a line of `scontrol show job --oneliner`."""
    fields: dict[str, str] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if equals:
            fields.setdefault(name, value)
    told, reason = fields.get("JobState", ""), fields.get("Reason", "None")
    state = _STATES.get(told, JobState.ENDED)
    why = [] if told in {"PENDING", "RUNNING"} else [told.lower()]
    if reason not in {"None", "(null)", ""}:
        why.append(reason)
    if state is JobState.ENDED and fields.get("ExitCode", "0:0") != "0:0":
        why.append(_ended(fields["ExitCode"]))
    return Standing(state, ", ".join(why))


def _ended(code: str) -> str:
    status, _, number = code.partition(":")
    return f"signal {number}" if number not in {"", "0"} else f"status {status}"
