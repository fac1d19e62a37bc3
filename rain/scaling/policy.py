"""Decides which governors are started, released and cancelled, as a pure function.

Governors are started for waiting work: enough to finish it within some seconds (`Rules`), but never
more than its tasks can use. They are counted in units of their kind's resources: a job may be
several times as large.

One rule prevents flapping: governors that were wanted at any time in the last `idle` seconds are
kept. So a governor is released only if it was not wanted for that long, and started again only for
new work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from attrs import Factory, define, field, frozen

from rain.base.durations import say_duration
from rain.base.wire.demand import Need
from rain.scaling.memory import ScalingMemory
from rain.scaling.picture import GovernorKind, Hired, Picture, Stage, kind_for


@frozen
class Rules:
    """The rules for all kinds of governors; a kind may replace some of them."""

    idle: float = 60.0  # seconds without a task after which a governor is let go
    finish: float = 5.0  # seconds in which the work is to be finished, if it may have the governors
    unknown: float = 1.0  # seconds that a task takes of whose name nothing is known
    drain: float = 30.0  # seconds before the end of its time in which a governor takes no tasks
    lost: float = 10.0  # seconds of its time in which a governor starts and ends
    ahead: float = 10.0  # seconds that the next one is asked for before that, if one starts at once


@frozen
class Start:
    """A governor to ask for."""

    kind: str
    size: int = 1


@define
class Decisions:
    """The governors to start, drain and cancel, and the reasons."""

    start: list[Start] = Factory(list)
    drain: list[str] = Factory(list)  # names of governors to let go
    cancel: list[str] = Factory(list)  # names of those that wait in the queue in vain
    why: dict[str, str] = Factory(dict)  # for people, by kind
    too_long: dict[str, str] = Factory(dict)  # for which tasks none is started, for people, by kind
    memories: dict[str, ScalingMemory] = Factory(dict)  # for the next decision, by kind


def decide(
    picture: Picture, rules: Rules, memories: Mapping[str, ScalingMemory], now: float
) -> Decisions:
    """Decides what to do now. It is called repeatedly, with the memories of the last decision."""
    found = Decisions()
    needs, too_long = _by_kind(picture, rules)
    for kind in picture.kinds:
        idle = rules.idle if kind.idle is None else kind.idle
        if too_long[kind.name]:
            found.too_long[kind.name] = _too_long(kind, too_long[kind.name])
        memory = memories.get(kind.name, ScalingMemory())
        one = _Kind.of(kind, needs[kind.name], picture.hired, rules, idle, memory.start_seconds)
        memory = memory.want(now, one.target, idle)
        found.memories[kind.name] = memory
        rests = now < memory.pause
        started = [] if rests else one.to_start()
        found.start += [Start(kind.name, size) for size in started]
        one.give_back(memory.most_wanted, idle, _others_stay(picture, kind), found)
        if not kind.most and not one.hired:
            continue  # it was removed, and has gone
        says = one.why(len(started), memory, memory.pause - now)
        if kind.name in found.too_long:
            says += f"; {found.too_long[kind.name]}"
        found.why[kind.name] = says
    return found


@define
class _Kind:
    """One kind, its governors and its work."""

    kind: GovernorKind
    hired: list[Hired]
    counted: list[Hired]  # those that work or will, and do so for a while
    work: float  # seconds that the work takes one of them, with what their tasks still occupy
    waiting: int  # tasks
    usable: int  # the most sizes that the tasks can use
    step: int  # how large a governor must be for the largest task that waits
    longest: float  # seconds that one must have left for the longest one
    start_seconds: float
    finish: float  # seconds in which the work is to be finished
    target: int = field(init=False)

    @staticmethod
    def of(
        kind: GovernorKind,
        needs: Sequence[Need],
        hired: Sequence[Hired],
        rules: Rules,
        idle: float,
        start_seconds: float,
    ) -> _Kind:
        ours = [one for one in hired if one.kind == kind.name]
        work = used = 0.0
        for need in needs:
            slots = _slots(kind, need)
            seconds = need.seconds + need.unknown * rules.unknown
            work += (seconds + need.occupied) / slots
            used += (need.waiting + need.running) / slots
        return _Kind(
            kind,
            ours,
            _counted(kind, ours, work, rules, start_seconds),
            work,
            sum(need.waiting for need in needs),
            ceil(used),
            max((kind.size_for(need) for need in needs if need.waiting), default=1),
            rules.lost + max((need.shortest for need in needs if need.waiting), default=0.0),
            start_seconds,
            # A governor costs its way here and its idle end, so it is to have some work for that.
            max(rules.finish, start_seconds / 2, idle / 4),
        )

    def __attrs_post_init__(self) -> None:
        target = min(self.usable, ceil(self.work / self.finish))
        self.target = max(target, self.step if self.waiting else 0)

    @property
    def sizes(self) -> int:
        """The sum of the sizes of the counted governors."""
        return sum(one.size for one in self.counted)

    def to_start(self) -> list[int]:
        """The sizes of the governors to ask for."""
        room = self.kind.most - len(self.hired)
        least = self.kind.least - len(self.counted)
        missing = 0 if self._come_too_late() else self._missing()
        found: list[int] = []
        while len(found) < room and (missing > 0 or len(found) < least):
            size = max(self.step, min(missing, self.kind.largest))
            found.append(size)
            missing -= size
        return found

    def _missing(self) -> int:
        if self.waiting and not any(map(self._takes_any, self.counted)):
            return max(self.step, self.target - self.sizes)
        return self.target - self.sizes

    def _takes_any(self, one: Hired) -> bool:
        """Whether it could run each of the tasks that wait."""
        return one.size >= self.step and one.left >= self.longest

    def _come_too_late(self) -> bool:
        """Whether the ready governors will finish the work before another one could begin."""
        ready = [one for one in self.counted if one.stage is Stage.READY]
        if not any(map(self._takes_any, ready)):
            return False
        return self.work / sum(one.size for one in ready) <= self.start_seconds

    def give_back(self, kept: int, idle: float, others_stay: int, found: Decisions) -> None:
        """Gives back governors that were not needed for long: first waiting jobs, the last one
        first.

        Governors that may not stay are given back, too: outdated ones, and those above the limit.
        """
        ready = others_stay + sum(one.stage is Stage.READY for one in self.counted)
        ready = self._dismiss(ready, found)
        count, sizes = len(self.counted), self.sizes
        queued = [one for one in reversed(self.counted) if one.stage is Stage.QUEUED]
        resting = [one for one in self.counted if one.stage is Stage.READY and one.idle >= idle]
        resting.sort(key=lambda one: (one.sole, -one.idle))
        for one in (*queued, *resting):
            if count <= self.kind.least or sizes - one.size < kept:
                continue
            if one.stage is Stage.QUEUED:
                found.cancel.append(one.name)
            elif one.sole and ready == 1:
                continue  # no other governor could take its data
            else:
                found.drain.append(one.name)
                ready -= 1
            count, sizes = count - 1, sizes - one.size

    def _dismiss(self, ready: int, found: Decisions) -> int:
        """Releases governors that may not stay, whatever waits; returns how many stay ready.

        The last governor with data that is still needed stays until another one could take the
        data, or until its place is needed.
        """
        outdated = [one for one in self.hired if one.outdated and one.stage is not Stage.LEAVING]
        order = {Stage.QUEUED: 0, Stage.STARTING: 1, Stage.READY: 2}
        more = sorted(self.counted, key=lambda one: (order[one.stage], one.sole, -one.idle))
        more = more[: max(0, len(more) - self.kind.most)]
        in_the_way = self.waiting > 0 and len(self.hired) >= self.kind.most
        for one in (*outdated, *more):
            others = ready if one.outdated else ready - 1
            if one.stage is not Stage.READY:
                found.cancel.append(one.name)
            elif not one.sole or others > 0 or in_the_way:
                found.drain.append(one.name)
                ready = others
        gone = {one.name for one in more} & {*found.cancel, *found.drain}
        self.counted = [one for one in self.counted if one.name not in gone]
        return ready

    def why(self, started: int, memory: ScalingMemory, pause: float) -> str:
        """In words for people."""
        if not self.kind.most:
            return f"was removed; governors that have not left: {len(self.hired)}"
        said = f"wants {self.target} of {self.kind.most}"
        if self.target > self.kind.most:
            said = f"wants {self.target}, and may have {self.kind.most}"
        if self.waiting:
            said += f": {self.waiting} tasks wait, with {self.work:.0f} s of work for one governor"
        elif self.work:
            said += ": tasks run, and none waits"
        else:
            said += ": nothing waits"
        missing = self._missing()
        if memory.failures and pause > 0:
            return f"{said}; starts none for {pause:.0f} s, since {memory.why}"
        if missing > started and self._come_too_late():
            return f"{said}; others would come too late, after {self.start_seconds:.0f} s"
        return said


def _counted(
    kind: GovernorKind,
    hired: Sequence[Hired],
    work: float,
    rules: Rules,
    start_seconds: float,
) -> list[Hired]:
    """The governors that stay until the next one can have joined, or until all work is done."""
    staying = [one for one in hired if one.stage is not Stage.LEAVING and not one.outdated]
    ready = sum(one.size for one in staying if one.stage is Stage.READY)
    ahead = min(rules.ahead + start_seconds, kind.seconds / 2)
    if ready:
        ahead = min(ahead, work / ready)
    return [one for one in staying if one.left - rules.drain >= ahead]


def _by_kind(picture: Picture, rules: Rules) -> tuple[dict[str, list[Need]], dict[str, list[Need]]]:
    """The needs for which each kind is started, and those whose tasks would not end on any kind."""
    needs: dict[str, list[Need]] = {kind.name: [] for kind in picture.kinds}
    too_long: dict[str, list[Need]] = {kind.name: [] for kind in picture.kinds}
    for need in picture.needs:
        lasting = [kind for kind in picture.kinds if kind.lasts(need, rules.lost)]
        if (kind := kind_for(need, lasting)) is not None:
            needs[kind.name].append(need)
        elif (kind := kind_for(need, picture.kinds)) is not None:
            too_long[kind.name].append(need)
    return needs, too_long


def _too_long(kind: GovernorKind, needs: Sequence[Need]) -> str:
    count = sum(need.waiting for need in needs)
    shortest = say_duration(min(need.shortest for need in needs))
    return (
        f"{count} task{'' if count == 1 else 's'} of {shortest} or more would not end on a governor"
        f" of {kind.name}, which has {say_duration(kind.seconds)}"
    )


def _slots(kind: GovernorKind, need: Need) -> float:
    """How many tasks of this need run at once for each size; a large task takes several sizes."""
    slots = kind.slots(need)
    if slots:
        return slots
    return 1 / kind.size_for(need)


def _others_stay(picture: Picture, kind: GovernorKind) -> int:
    """How many governors of other kinds could take data."""
    return sum(
        one.kind != kind.name and one.stage is Stage.READY and not one.outdated
        for one in picture.hired
    )
