"""The scaler: starts governors of a cluster when work waits, and lets them go when it is done.

It is a separate process, and a client of the server. It asks the server for the waiting work and
the batch system for the states of its jobs, decides (`rain.scaling`), and acts. The jobs that it
has started are in `scaling.json`, so another scaler can take over. It ends with the server, or by a
signal; its governors go on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import inf
from pathlib import Path

from attrs import Factory, define, evolve

from rain.base.errors import StartError
from rain.base.governors import GovernorRow
from rain.base.ids import GovernorId
from rain.base.resources import LARGEST, ONE_CPU, Resources
from rain.base.wire.demand import Demand, Load
from rain.base.wire.requests import Promise
from rain.launchers.interface import JobState, Launcher, Standing, let_drain
from rain.scaling.memory import ScalingMemory
from rain.scaling.picture import GovernorKind, Hired, Picture, Stage
from rain.scaling.policy import Decisions, Rules, Start, decide
from rain.start.clusters import read_cluster
from rain.start.jobs import last_line, ready_file
from rain.start.scaling_files import KindOrder, ScaledJob, ScalerOrder, ScalingState

LOOK_AGAIN = 1.0
"""Seconds between two looks at the work,"""

PATIENCE = 0.2
"""and between two questions to the batch system for each job that is not there yet."""

APPEARS = 10.0
"""Seconds in which a batch system need not know a job that it has just taken."""

SHORT_LIFE = 30.0
"""A governor that ends by itself before it has been there for so long counts as a failure."""

DRAIN_LIMIT = 120.0
"""Seconds after which the job of a governor that was told to leave is cancelled."""

_ENDED_SHOWN = 5


@define(eq=False)
class Scaler:
    """All but the waiting. Times are seconds since 1970."""

    order: ScalerOrder
    log_folder: Path
    state: ScalingState
    launchers: Mapping[str, Launcher]  # by kind
    promise: Promise = Factory(Promise)
    _rules: Rules = Factory(Rules)
    _memories: dict[str, ScalingMemory] = Factory(dict)
    _idle: dict[str, float] = Factory(dict)  # since when governors have had no task
    _standings: dict[str, Standing] = Factory(dict)  # of the jobs that have not joined
    _ask_again: float = 0.0
    _incarnations: dict[str, GovernorId] = Factory(dict)
    _tried: dict[str, float] = Factory(dict)  # when a governor was last started on a host

    def take(self, order: ScalerOrder, launchers: Mapping[str, Launcher]) -> None:
        """Goes on with an order in which kinds were added, changed or removed."""
        for one in order.kinds:
            known = next((old for old in self.order.kinds if old.kind.name == one.kind.name), one)
            if known.version != one.version:
                self._memories.pop(one.kind.name, None)  # its failures are those of other jobs
        self.order, self.launchers = order, launchers

    @property
    def sight(self) -> float:
        """Seconds ahead that matter of running tasks."""
        idle = [
            self._rules.idle if one.kind.idle is None else one.kind.idle for one in self.order.kinds
        ]
        return max(self._rules.finish, *(seconds / 4 for seconds in idle))

    def look(self, demand: Demand, now: float) -> None:
        """Decides once, and acts."""
        loads = {load.governor: load for load in demand.loads}
        stages = self._stages(loads, now)
        picture = Picture(
            [self._kind(one) for one in self.order.kinds],
            demand.needs,
            [self._hired(job, *stages[job.name], now) for job in self.state.jobs],
        )
        found = decide(picture, self._rules, self._memories, now)
        self._memories = found.memories
        self._act(found, now)
        self.state.says = found.why
        self._make_promise(found.too_long.values())

    def cancel_all(self) -> None:
        """The server has ended: the waiting jobs are not needed."""
        for kind, launcher in self.launchers.items():
            numbers = [job.number for job in self.state.jobs if job.kind == kind]
            if numbers:
                launcher.cancel(numbers)

    # How far all of them are.

    def _stages(
        self, loads: Mapping[GovernorId, Load], now: float
    ) -> dict[str, tuple[Stage, Load | None]]:
        found: dict[str, tuple[Stage, Load | None]] = {}
        away: list[ScaledJob] = []
        for job in self.state.jobs:
            load = self._load_of(job, loads)
            if load is None:
                away.append(job)
                continue
            self._has_joined(job, load, now)
            leaves = job.leaving or load.row is GovernorRow.DRAINS
            found[job.name] = (Stage.LEAVING if leaves else Stage.READY), load
        if now >= self._ask_again:
            self._ask(away)
            self._ask_again = now + max(LOOK_AGAIN, PATIENCE * len(away))
        for job in away:
            stage = self._stage_of(job, now)
            if stage is None:
                self._has_ended(job, now)
            else:
                found[job.name] = stage, None
        return found

    def _load_of(self, job: ScaledJob, loads: Mapping[GovernorId, Load]) -> Load | None:
        known = self._incarnations.get(job.name)
        if known is None:
            known = read_incarnation(ready_file(self.order.kind(job.kind).log_folder, job.name))
            if known is None:
                return None
            self._incarnations[job.name] = known
        return loads.get(known)

    def _has_joined(self, job: ScaledJob, load: Load, now: float) -> None:
        job.began = job.began or now
        if not job.joined:
            job.joined = now
            self._memories[job.kind] = self._memory(job).started(now - job.asked)
        order = self.order.kind(job.kind)
        if job.size == 1 and job.version == order.version:
            self.state.resources[order.edition] = load.resources.as_dict()
        if load.tasks:
            self._idle.pop(job.name, None)
        else:
            self._idle.setdefault(job.name, now)

    def _ask(self, away: list[ScaledJob]) -> None:
        """Asks the batch systems; what they said before holds while they do not answer."""
        for kind, launcher in self.launchers.items():
            numbers = [job.number for job in away if job.kind == kind]
            if not numbers:
                continue
            try:
                told = launcher.look(numbers)
            except StartError as error:
                self._note_trouble(kind, str(error))
                continue
            for number in numbers:
                self._standings[number] = told.get(number, Standing(JobState.ENDED))

    def _stage_of(self, job: ScaledJob, now: float) -> Stage | None:
        """The stage of a job whose governor is not at the server; None if the job has ended."""
        standing = self._standings.get(job.number)
        if standing is None or (
            standing == Standing(JobState.ENDED) and not job.began and now - job.asked < APPEARS
        ):
            return Stage.QUEUED
        if standing.state is JobState.ENDED:
            return None
        if standing.state is JobState.QUEUED:
            return Stage.LEAVING if job.leaving else Stage.QUEUED
        job.began = job.began or now
        return Stage.LEAVING if job.leaving or job.joined else Stage.STARTING

    def _has_ended(self, job: ScaledJob, now: float) -> None:
        self.state.jobs.remove(job)
        standing = self._standings.pop(job.number, Standing(JobState.ENDED))
        self._idle.pop(job.name, None)
        self._incarnations.pop(job.name, None)
        said = last_line(self.order.kind(job.kind).log_folder / f"{job.name}.out")
        why = ": ".join(part for part in (standing.why, said) if part)
        if job.leaving:
            why = f"was released{f' ({why})' if why else ''}"
        elif not job.joined or now - job.joined < SHORT_LIFE:
            told = f"job {job.number} has ended before its time{f': {why}' if why else ''}"
            self._memories[job.kind] = self._memory(job).failed(now, told)
        self.state.ended[f"{job.name} (job {job.number})"] = why or "ended"
        for name in [*self.state.ended][:-_ENDED_SHOWN]:
            del self.state.ended[name]

    def _hired(self, job: ScaledJob, stage: Stage, load: Load | None, now: float) -> Hired:
        order = self.order.kind(job.kind)
        idle = self._idle.get(job.name)
        return Hired(
            job.name,
            job.kind,
            stage,
            job.size,
            0.0 if idle is None or load is None else now - idle,
            order.kind.seconds - (now - job.began) if job.began else inf,
            load is not None and load.has_sole_copies,
            is_outdated(job, order),
        )

    def _kind(self, order: KindOrder) -> GovernorKind:
        """With the resources that its governors were found to have."""
        found = self.state.resources.get(order.edition)
        return order.kind if found is None else evolve(order.kind, resources=Resources.of(found))

    def _memory(self, job: ScaledJob) -> ScalingMemory:
        return self._memories.get(job.kind, ScalingMemory())

    # What is done.

    def _act(self, found: Decisions, now: float) -> None:
        by_name = {job.name: job for job in self.state.jobs}
        for name in found.cancel:
            self._let_go(by_name[name], now, _cancel)
        for name in found.drain:
            self._let_go(by_name[name], now, let_drain)
        for job in self.state.jobs:
            if job.leaving and now - job.leaving > DRAIN_LIMIT:
                self._let_go(job, now, _cancel)
        for start in found.start:
            self._start(start, now)

    def _let_go(
        self, job: ScaledJob, now: float, way: Callable[[Launcher, list[str]], None]
    ) -> None:
        try:
            way(self.launchers[job.kind], [job.number])
        except StartError as error:
            self._note_trouble(job.kind, str(error))
        else:
            job.leaving = now

    def _start(self, start: Start, now: float) -> None:
        memory = self._memories[start.kind]
        if now < memory.pause:
            return  # the one before was refused
        order = self.order.kind(start.kind)
        number, taken = self.state.first, self._taken()
        while order.name_of(number) in taken:
            number += 1
        self.state.first = number + 1
        place = self._place(order, now)
        name, job = order.name_of(number), order.job(number, start.size, place)
        ready_file(order.log_folder, name).unlink(missing_ok=True)
        try:
            said = self.launchers[start.kind].submit(job)
        except StartError as error:
            self._memories[start.kind] = memory.failed(now, str(error))
            return
        self.state.jobs.append(
            ScaledJob(
                name, said, start.kind, start.size, asked=now, place=place, version=order.version
            )
        )

    def _place(self, order: KindOrder, now: float) -> str:
        """The free host whose last try was longest ago.

        So a host that cannot be reached is not tried again before the others.
        """
        if not order.places:
            return ""
        used = {job.place for job in self.state.jobs}
        free = [place for place in order.places if place not in used]
        chosen = min(free, key=lambda place: self._tried.get(place, 0.0))
        self._tried[chosen] = now
        return chosen

    def _taken(self) -> set[str]:
        """The names of the governors that the cluster has besides those of the scaler."""
        cluster = read_cluster(self.log_folder)
        if cluster is None:
            return set()
        return {one.name for one in cluster.members} | {one.name for one in cluster.jobs}

    def _note_trouble(self, kind: str, why: str) -> None:
        self.state.ended[f"the batch system of {kind}"] = why

    def _make_promise(self, too_long: Collection[str]) -> None:
        """The governors that the server should count on, and a text for waiting clients."""
        kinds = [self._kind(one) for one in self.order.kinds if not one.removed]
        self.promise = Promise(
            tuple(map(_largest, kinds)), "; ".join([*self._how_far(), *too_long])
        )

    def _how_far(self) -> list[str]:
        said = [
            f"job {job.number} is {_state(job, self._standings.get(job.number))}"
            for job in self.state.jobs
            if not job.joined and not job.leaving
        ]
        if all(one.removed for one in self.order.kinds):
            return said
        if len(said) > 2:
            said = [*said[:2], f"and {len(said) - 2} more"]
        pauses = [memory.why for memory in self._memories.values() if memory.failures]
        return said + pauses or ["none is asked for yet"]


def is_outdated(job: ScaledJob, order: KindOrder) -> bool:
    """Whether a job would not be started any more as it was."""
    gone = bool(order.places) and job.place not in order.places
    return order.removed or job.version != order.version or gone


def _cancel(launcher: Launcher, numbers: list[str]) -> None:
    launcher.cancel(numbers)


def _state(job: ScaledJob, standing: Standing | None) -> str:
    if job.began:
        return "starting"
    return f"queued ({standing.why})" if standing is not None and standing.why else "queued"


def _largest(kind: GovernorKind) -> Resources:
    has = kind.resources or ONE_CPU
    others = tuple((name, min(amount * kind.largest, LARGEST)) for name, amount in has.others)
    return Resources(has.cpus * kind.largest, others)


def read_incarnation(file: Path) -> GovernorId | None:
    """Which governor it is that is ready, from its file; None before it is."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    for line in lines:
        words = line.split()
        if words[:2] == ["note", "incarnation"] and words[2:]:
            return GovernorId(int(words[2]))
    return None
