"""Governors as jobs of a batch system: submits them, waits for them, and looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import frozen

from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Launcher, Standing
from rain.launchers.registry import find_launcher
from rain.launchers.script import governor_script
from rain.start.clusters import ClusterDescription, JobEntry
from rain.start.governors import BatchGovernors
from rain.start.launch import Launch
from rain.start.plan import PlannedDaemon, seen_from_governors
from rain.start.scaling_files import scaled_jobs

LOOK_AGAIN = 1.0  # seconds; batch systems do not like to be asked more often
_TAIL = 2048
_SAYS_LITTLE = "[info "  # a line of a governor's log in which nothing is wrong


def ready_file(log_folder: Path, name: str) -> Path:
    """The file that gets the address of a governor when it is ready."""
    return log_folder / f"{name}.ready"


def plan_job(
    daemon: PlannedDaemon, governors: BatchGovernors, folder: Path, cpus_variable: str
) -> Job:
    """The job of a governor."""
    return Job(
        f"rain-{daemon.name}",
        governor_script(
            daemon.command,
            folder=folder,
            ready=ready_file(daemon.log_folder, daemon.name),
            cpus_variable=cpus_variable if governors.cpus is None else "",
            before=daemon.around.first,
            seconds=governors.seconds,
        ),
        folder,
        daemon.output,
        governors.cpus,
        governors.memory,
        governors.gpus,
        governors.seconds,
        governors.options,
        daemon.arguments,
        daemon.around,
    )


class JobSubmission:
    """A context of jobs that are being submitted; all are cancelled on exit without `keep`."""

    def __init__(self) -> None:
        self._launcher: Launcher | None = None
        self.entries: list[JobEntry] = []
        self._kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._launcher is None or not self.entries or self._kept:
            return
        numbers = [entry.number for entry in self.entries]
        try:
            self._launcher.cancel(numbers)
        except StartError as trouble:
            raise StartError(
                f"{error}\nthe jobs {', '.join(numbers)} may go on: {trouble}"
            ) from error

    def submit(
        self, daemons: Sequence[PlannedDaemon], governors: BatchGovernors, folder: Path
    ) -> None:
        """Submits a job for each of these governors."""
        self._launcher = find_launcher(governors.launcher)
        for daemon in daemons:
            job = plan_job(daemon, governors, folder, self._launcher.cpus_variable)
            number = self._launcher.submit(job)
            self.entries.append(
                JobEntry(daemon.name, number, governors.launcher, daemon.log_folder)
            )

    def wait(self, count: int, launch: Launch) -> None:
        """Waits until `count` of them are ready; StartError as soon as that is impossible."""
        while count > 0 and self._launcher is not None:
            lines = look(self._launcher, self.entries)
            if sum(1 for line in lines if line.address) >= count:
                return
            ended = [line for line in lines if line.state == JobState.ENDED]
            if len(lines) - len(ended) < count:
                raise StartError(
                    f"--wait {count} cannot be met: job {ended[0].number} of {ended[0].name} has"
                    f" ended{_because(ended[0].why)}"
                )
            if not launch.has_time:
                waits = next(line for line in lines if not line.address)
                raise StartError(
                    f"--wait {count} was not met in time: job {waits.number} of {waits.name}"
                    f" is {waits.state}{_because(waits.why)}"
                )
            launch.pass_time(LOOK_AGAIN)

    def keep(self) -> None:
        """Lets the jobs go on."""
        self._kept = True


@frozen
class JobLine:
    """A governor that is a job: how far it is, and since it was ready its address."""

    name: str
    number: str
    state: str  # "queued", "starting", "running" or "ended"
    address: str = ""
    why: str = ""


def look(launcher: Launcher, entries: Sequence[JobEntry]) -> list[JobLine]:
    """Asks the batch system, and looks into the log folders."""
    standings = launcher.look([entry.number for entry in entries])
    return [
        _line(
            entry,
            standings.get(entry.number, Standing(JobState.ENDED)),
            read_address(ready_file(entry.log_folder, entry.name)),
        )
        for entry in entries
    ]


def _line(entry: JobEntry, standing: Standing, address: str) -> JobLine:
    address = address or standing.address
    match standing.state:
        case JobState.QUEUED:
            return JobLine(entry.name, entry.number, "queued", why=standing.why)
        case JobState.RUNNING:
            state = "running" if address else "starting"
            return JobLine(entry.name, entry.number, state, address, standing.why)
        case JobState.ENDED:
            said = last_line(entry.log_folder / f"{entry.name}.out")
            why = ": ".join(part for part in (standing.why, said) if part)
            return JobLine(entry.name, entry.number, "ended", why=why)


def read_address(file: Path) -> str:
    """The address in the file of a governor that is ready, else ""."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ""
    if len(lines) < 2 or not lines[1].startswith("ready "):
        return ""
    return seen_from_governors(lines[1].removeprefix("ready "), lines[0])


def last_line(file: Path) -> str:
    """The last line of what a job has printed, if it may be why the job has ended."""
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _TAIL))
            lines = opened.read().decode("utf-8", "replace").strip().splitlines()
    except FileNotFoundError:
        return ""
    return "" if not lines or _SAYS_LITTLE in lines[-1] else lines[-1]


def _because(why: str) -> str:
    return f": {why}" if why else ""


def all_jobs(cluster: ClusterDescription) -> list[JobEntry]:
    """The jobs of a cluster, those of its scaler among them."""
    return [*cluster.jobs, *scaled_jobs(cluster.log_folder)]


def look_at_jobs(cluster: ClusterDescription) -> list[JobLine]:
    """The jobs of a cluster."""
    return [
        line for name, jobs in _by_launcher(cluster) for line in look(find_launcher(name), jobs)
    ]


def _by_launcher(cluster: ClusterDescription) -> list[tuple[str, list[JobEntry]]]:
    found: dict[str, list[JobEntry]] = {}
    for job in all_jobs(cluster):
        found.setdefault(job.launcher, []).append(job)
    return list(found.items())


def drain_job(cluster: ClusterDescription, wanted: str) -> JobEntry | None:
    """Cancels the job of a governor with this name or number; None if there is none.

    A batch system ends a job that runs with SIGTERM, so that its governor drains.
    """
    for job in all_jobs(cluster):
        if wanted in {job.name, job.number}:
            find_launcher(job.launcher).cancel([job.number])
            return job
    return None


def cancel_jobs(cluster: ClusterDescription) -> list[str]:
    """Cancels the jobs of a cluster; returns a line for each batch system that could not do it."""
    troubles: list[str] = []
    for name, jobs in _by_launcher(cluster):
        numbers = [job.number for job in jobs]
        try:
            find_launcher(name).cancel(numbers)
        except StartError as error:
            troubles.append(f"the jobs {', '.join(numbers)} may go on: {error}")
    return troubles
