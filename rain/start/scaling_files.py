"""The files of a cluster that scales, in its log folder beside cluster.json.

`scaler.json` has the kinds of governors that the scaler may start. It is written at the start of
the cluster, and by `rain add` and `rain remove` when they add, change or remove a kind; then the
scaler reads it again. A removed kind stays in it with a limit of 0, because it may still have
governors. `scaling.json` has the jobs that the scaler has started, how many it wants, and why. Only
the scaler writes it. Its successor continues from there, and other commands find the jobs in it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import Factory, asdict, define, evolve, frozen

from rain.base.errors import StartError
from rain.base.resources import Resources
from rain.launchers.interface import Job
from rain.launchers.surroundings import Surroundings
from rain.scaling.picture import GovernorKind
from rain.start.clusters import JobEntry

ORDER_FILE, STATE_FILE = "scaler.json", "scaling.json"
ANY_NUMBER, ANY_PLACE = 10**9, "@RAIN-HOST@"
"""The number of the governor, and its host, in a draft of a job: each puts its own in there."""


@frozen
class KindOrder:
    """Governors of one kind, and their jobs as drafts: one for each size from 1 on."""

    kind: GovernorKind
    launcher: str
    drafts: tuple[Job, ...]
    prefix: str = "governor"  # what the names of its governors begin with
    places: tuple[str, ...] = ()  # the hosts on which they run, one on each, if it is not left open
    version: int = 0  # of what its governors get, which may change

    @property
    def log_folder(self) -> Path:
        """Where the jobs of this kind write, and say that they are ready."""
        return self.drafts[0].output.parent

    @property
    def removed(self) -> bool:
        """Whether no governors of it are started any more."""
        return self.kind.most == 0

    @property
    def edition(self) -> str:
        """A name for it and what its governors get."""
        return f"{self.kind.name}@{self.version}"

    def name_of(self, number: int) -> str:
        """The name of the governor with this number."""
        return f"{self.prefix}-{number}"

    def job(self, number: int, size: int, place: str = "") -> Job:
        """The job of the governor with this number, perhaps on a host."""
        draft = self.drafts[size - 1]
        before, after = f"-{ANY_NUMBER}", f"-{number}"
        script = draft.script.replace(before, after).replace(ANY_PLACE, shlex.quote(place))
        return evolve(
            draft,
            name=draft.name.replace(before, after),
            script=script,
            output=Path(str(draft.output).replace(before, after)),
            governor=tuple(word.replace(before, after) for word in draft.governor),
        )


@frozen
class ScalerOrder:
    """All that a scaler may do."""

    kinds: tuple[KindOrder, ...] = ()

    def kind(self, name: str) -> KindOrder:
        """The kind with this name."""
        return next(one for one in self.kinds if one.kind.name == name)


@define
class ScaledJob:
    """A governor that the scaler has asked for, which has not ended as far as is known."""

    name: str
    number: str
    kind: str
    size: int
    asked: float  # seconds since 1970
    began: float = 0.0  # when its time began; 0 while it waits
    joined: float = 0.0  # when its governor was there; 0 before
    leaving: float = 0.0  # when it was asked to leave; 0 for never
    place: str = ""  # the host on which it runs, if that was chosen here
    version: int = 0  # of its kind


@define
class ScalingState:
    """The report of the scaler on its work."""

    first: int = 0  # the number of the next governor
    jobs: list[ScaledJob] = Factory(list)
    says: dict[str, str] = Factory(dict)  # what it wants and why, by kind
    ended: dict[str, str] = Factory(dict)  # the last jobs that have ended, and why
    resources: dict[str, dict[str, int]] = Factory(dict)  # what was found of governors, by edition


def write_order(log_folder: Path, order: ScalerOrder) -> None:
    """Writes scaler.json. The script of a job has the path of the secret, and not the secret."""
    _write(log_folder / ORDER_FILE, _plain(order))


def write_state(log_folder: Path, state: ScalingState) -> None:
    """Writes scaling.json."""
    _write(log_folder / STATE_FILE, _plain(state))


def read_order(log_folder: Path) -> ScalerOrder:
    """Reads scaler.json."""
    content = _read(log_folder / ORDER_FILE)
    if content is None:
        raise StartError(f"the cluster of {log_folder} does not scale: it has no {ORDER_FILE}")
    return ScalerOrder(tuple(map(_kind_order, content["kinds"])))


def order_stamp(log_folder: Path) -> tuple[int, int]:
    """Changes whenever another order is written."""
    found = (log_folder / ORDER_FILE).stat()
    return found.st_ino, found.st_mtime_ns


def read_state(log_folder: Path) -> ScalingState | None:
    """Reads scaling.json; None for a cluster that does not scale."""
    content = _read(log_folder / STATE_FILE)
    if content is None:
        return None
    jobs = [ScaledJob(**told) for told in content.pop("jobs")]
    return ScalingState(jobs=jobs, **content)


def scaled_jobs(log_folder: Path) -> list[JobEntry]:
    """The jobs of a scaler, as other jobs of the cluster."""
    state = read_state(log_folder)
    if state is None or not state.jobs:
        return []
    kinds = {one.kind.name: one for one in read_order(log_folder).kinds}
    return [
        JobEntry(job.name, job.number, kinds[job.kind].launcher, kinds[job.kind].log_folder)
        for job in state.jobs
    ]


def _kind_order(told: dict[str, Any]) -> KindOrder:
    kind, drafts = told["kind"], told["drafts"]
    resources = kind.pop("resources")
    return KindOrder(
        GovernorKind(resources=None if resources is None else _resources(resources), **kind),
        told["launcher"],
        tuple(map(_job, drafts)),
        told["prefix"],
        tuple(told["places"]),
        told.get("version", 0),
    )


def _resources(told: dict[str, Any]) -> Resources:
    return Resources(told["cpus"], tuple((name, amount) for name, amount in told["others"]))


def _job(told: dict[str, Any]) -> Job:
    folder, output = Path(told.pop("folder")), Path(told.pop("output"))
    options, governor = tuple(told.pop("options")), tuple(told.pop("governor", ()))
    around = _surroundings(told.pop("around", {}))
    return Job(
        folder=folder, output=output, options=options, governor=governor, around=around, **told
    )


def _surroundings(told: dict[str, Any]) -> Surroundings:
    pairs: Sequence[Sequence[str]] = told.pop("environment", ())
    options = tuple(told.pop("container_options", ()))
    environment = tuple((name, value) for name, value in pairs)
    return Surroundings(environment=environment, container_options=options, **told)


def _plain(value: ScalerOrder | ScalingState) -> dict[str, Any]:
    return asdict(
        value, value_serializer=lambda _, __, held: str(held) if isinstance(held, Path) else held
    )


def _write(file: Path, content: dict[str, Any]) -> None:
    draft = file.with_suffix(".new")
    try:
        draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise StartError(f"{file} cannot be written: {error.strerror}") from error


def _read(file: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StartError(f"{file} cannot be read: {error}") from error
    return content
