"""The interface of a launcher: it submits jobs to a batch system, checks them, and cancels them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import frozen

from rain.launchers.surroundings import NOTHING, Surroundings


@frozen
class Job:
    """One job: a script, and what the batch system is to give it. None is for its default."""

    name: str
    script: str
    folder: Path  # where it runs
    output: Path  # a file for all that it prints
    cpus: int | None = None
    memory: int | None = None  # bytes
    gpus: int | None = None
    seconds: int | None = None  # how long it may run
    options: tuple[str, ...] = ()  # for the batch system, as the user has written them
    governor: tuple[str, ...] = ()  # the arguments of `rain governor`, where no script can be run
    around: Surroundings = NOTHING  # the same: what else is in the script


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


@frozen
class Standing:
    """The state of a job, and why it waits or how it has ended, as the batch system says it."""

    state: JobState
    why: str = ""
    address: str = ""  # of the governor, if the launcher knows it, and no file of its job says it


class Launcher(Protocol):
    """A batch system. Each method raises StartError with what the batch system has said."""

    name: str
    cpus_variable: str
    """The variable in the environment of a job with its number of cpus."""

    def submit(self, job: Job) -> str:
        """Submits a job; returns its number in the batch system."""
        ...

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        """Returns the states of these jobs, without those that the batch system has forgotten."""
        ...

    def cancel(self, numbers: Sequence[str]) -> None:
        """Ends jobs, whether they wait or run. Those that have ended do not matter."""
        ...


@runtime_checkable
class Draining(Protocol):
    """What a launcher may have, too: a way to end jobs that run without a limit of time.

    What `cancel` ends, most batch systems kill soon after.
    """

    def drain(self, numbers: Sequence[str]) -> None:
        """Sends SIGUSR2 to the governors of these jobs."""
        ...


def let_drain(launcher: Launcher, numbers: Sequence[str]) -> None:
    """Lets governors leave in order, with as much time as the launcher can give them."""
    if isinstance(launcher, Draining):
        launcher.drain(numbers)
    else:
        launcher.cancel(numbers)


@runtime_checkable
class Housed(Protocol):
    """A launcher inside an existing cluster, which knows how many governors fit."""

    def room(self, options: Sequence[str]) -> int:
        """The default number of governors."""
        ...
