"""Grid Engine: `qsub`, `qstat`, `qdel` (Sun, Son of, Univa, Altair)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from rain.base.durations import spell_duration
from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.tool import call


class GridEngine:
    """The launcher `sge`."""

    name = "sge"
    cpus_variable = "NSLOTS"

    def submit(self, job: Job) -> str:
        said = call(["qsub", "-terse", *options(job)], job.script).strip()
        number = said.splitlines()[-1].partition(".")[0] if said else ""
        if not number.isdecimal():
            raise StartError(f"qsub has printed no job number, but {said!r}")
        return number

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        found = read_jobs(call(["qstat", "-u", "*", "-xml"]))
        return {number: found[number] for number in numbers if number in found}

    def cancel(self, numbers: Sequence[str]) -> None:
        call(["qdel", *numbers], may_fail=True)  # it fails for jobs that have ended


def options(job: Job) -> list[str]:
    """The options of `qsub`.

    Several cpus need a parallel environment, whose name each site has chosen. So the user names it
    (`-- -pe smp 16`), unless the job takes a single cpu.
    """
    if job.cpus not in {None, 1} and "-pe" not in job.options:
        raise StartError(
            f"Grid Engine gives {job.cpus} cpus only in a parallel environment: name that of your"
            f" site, for instance -- -pe smp {job.cpus}"
        )
    found = [
        *("-N", job.name),
        *("-S", "/bin/sh"),
        *("-wd", str(job.folder)),
        *("-j", "y"),
        "-notify",  # SIGUSR2 before the end, which is a SIGKILL, so that governors can drain
        *("-o", str(job.output)),
    ]
    limits: list[str] = []
    if job.memory is not None:
        limits.append(f"h_vmem={job.memory}")
    if job.gpus is not None:
        limits.append(f"gpu={job.gpus}")
    if job.seconds is not None:
        limits.append(f"h_rt={spell_duration(job.seconds)}")
    if limits:
        found += ["-l", ",".join(limits)]
    return [*found, *job.options]


def read_jobs(text: str) -> dict[str, Standing]:
    """Reads what `qstat -xml` prints. Jobs that have ended are not in it."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise StartError(f"the answer of qstat -xml cannot be parsed: {error}") from error
    found: dict[str, Standing] = {}
    for entry in root.iter("job_list"):
        number, letters = entry.findtext("JB_job_number", ""), entry.findtext("state", "")
        found[number] = _standing(letters)
    return found


def _standing(letters: str) -> Standing:
    if "E" in letters:
        return Standing(JobState.QUEUED, "in error: ask qstat -j")
    if "h" in letters:
        return Standing(JobState.QUEUED, "held")
    running = any(letter in letters for letter in "rtsST")
    return Standing(JobState.RUNNING if running else JobState.QUEUED)
