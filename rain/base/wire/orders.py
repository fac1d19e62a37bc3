"""The orders of the server to one governor, at the end of a turn."""

from collections.abc import Collection

from attrs import Factory, define

from rain.base.ids import KindId, ObjectId, SessionId, TaskId, session_of
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.columns import check_counts, outputs_of_nobody, uneven

SERVER = "server"
"""The source of a placed object that the server itself holds."""

LATER = "later"
"""In place of a source: the sender will be named as soon as one has room."""


@define
class PlacedObjects:
    """Objects that a governor shall hold, and where each comes from.

    `sources` holds a governor (`rain.base.address.Source`), `SERVER` or `LATER`; with "" the bytes
    are in `data`. Several sources of a large object, in the order in which they are to be asked,
    have blanks between them.
    """

    ids: list[ObjectId] = Factory(list)
    kinds: list[KindId] = Factory(list)
    content_types: list[str] = Factory(list)  # as found when it was made; "" says nothing
    sizes: list[int] = Factory(list)
    sources: list[str] = Factory(list)
    data: list[bytes] = Factory(list)

    def add(
        self, object_id: ObjectId, kind: KindId, content_type: str, size: int, source: str
    ) -> None:
        """One that is somewhere else."""
        self.ids.append(object_id)
        self.kinds.append(kind)
        self.content_types.append(content_type)
        self.sizes.append(size)
        self.sources.append(source)
        self.data.append(b"")

    def leave_out(self, object_ids: Collection[ObjectId]) -> None:
        """Withdraws these, if they are among them: it has not been told yet."""
        unwanted = set(object_ids)
        if unwanted.isdisjoint(self.ids):
            return
        places = [place for place, one in enumerate(self.ids) if one not in unwanted]
        self.ids = [self.ids[place] for place in places]
        self.kinds = [self.kinds[place] for place in places]
        self.content_types = [self.content_types[place] for place in places]
        self.sizes = [self.sizes[place] for place in places]
        self.sources = [self.sources[place] for place in places]
        self.data = [self.data[place] for place in places]

    def check(self) -> None:
        ids, kinds, sizes, data = self.ids, self.kinds, self.sizes, self.data
        types, sources = self.content_types, self.sources
        if not len(ids) == len(kinds) == len(types) == len(sizes) == len(sources) == len(data):
            raise uneven("placed objects", ids, kinds, types, sizes, sources, data)


@define
class LentObjects:
    """Objects that are sent with the only tasks that read them, and are dropped when these have
    ended.
    """

    ids: list[ObjectId] = Factory(list)
    kinds: list[KindId] = Factory(list)
    content_types: list[str] = Factory(list)  # as found when it was made; "" says nothing
    data: list[bytes] = Factory(list)

    def check(self) -> None:
        ids, kinds, types, data = self.ids, self.kinds, self.content_types, self.data
        if not len(ids) == len(kinds) == len(types) == len(data):
            raise uneven("lent objects", ids, kinds, types, data)


@define
class AssignedTasks:
    """Tasks that a governor shall run, in the order in which it should prefer them.

    `priorities` are larger for what should run first.
    """

    ids: list[TaskId] = Factory(list)
    runs: list[int] = Factory(list)
    kinds: list[KindId] = Factory(list)
    priorities: list[int] = Factory(list)
    configs: list[bytes] = Factory(list)
    input_counts: list[int] = Factory(list)
    inputs: list[ObjectId] = Factory(list)
    outputs: list[ObjectId] = Factory(list)
    needs: list[int] = Factory(list)  # bytes of memory, beyond what kinds say; none if all are 0

    def check(self) -> None:
        ids, tries, kinds, ranks = self.ids, self.runs, self.kinds, self.priorities
        configs, counts = self.configs, self.input_counts
        if not len(ids) == len(tries) == len(kinds) == len(ranks) == len(configs) == len(counts):
            raise uneven("assigned tasks", ids, tries, kinds, ranks, configs, counts)
        if self.needs and len(self.needs) != len(ids):
            raise uneven("assigned tasks", ids, self.needs)
        check_counts("assigned tasks: the input counts", self.input_counts, self.inputs)
        if self.outputs and not ids:
            raise outputs_of_nobody("assigned tasks")


@define
class CancelledRuns:
    """Runs that are not wanted any more. The governor reports each when it has ended."""

    ids: list[TaskId] = Factory(list)
    runs: list[int] = Factory(list)
    graces: list[float] = Factory(list)  # seconds until it is killed, or `OWN_GRACE`

    def check(self) -> None:
        if not len(self.ids) == len(self.runs) == len(self.graces):
            raise uneven("cancelled tasks", self.ids, self.runs, self.graces)


@define
class AskedRuns:
    """Runs that a governor shall return, unless it has begun them.

    It reports each that it returns. It reports the start or the end of all others, as always.
    """

    ids: list[TaskId] = Factory(list)
    runs: list[int] = Factory(list)

    def check(self) -> None:
        if len(self.ids) != len(self.runs):
            raise uneven("tasks that are asked back", self.ids, self.runs)


@define
class Orders:
    """All orders to one governor at the end of one turn; they are applied from top to bottom."""

    forget_sessions: list[SessionId] = Factory(list)  # stop and drop all of theirs, kinds too
    stop_ids: list[TaskId] = Factory(list)
    stop_runs: list[int] = Factory(list)
    cancelled: CancelledRuns = Factory(CancelledRuns)
    drops: list[ObjectId] = Factory(list)  # these copies are not wanted here any more
    task_kinds: list[TaskKind] = Factory(list)  # told before their first use
    object_kinds: list[ObjectKind] = Factory(list)
    objects: PlacedObjects = Factory(PlacedObjects)
    lent: LentObjects = Factory(LentObjects)
    tasks: AssignedTasks = Factory(AssignedTasks)
    number: int = 0  # counts the orders of one governor from 1; 0 of a server that does not return
    asked: AskedRuns = Factory(AskedRuns)  # applied after `cancelled`

    def leave_out(self, session: SessionId) -> None:
        """Withdraws the placed objects of a session and their kinds: it has not been told yet."""
        kinds = self.object_kinds
        self.object_kinds = [kind for kind in kinds if session_of(kind.id) != session]
        self.objects.leave_out([one for one in self.objects.ids if session_of(one) == session])

    def check(self) -> None:
        if len(self.stop_ids) != len(self.stop_runs):
            raise uneven("stopped tasks", self.stop_ids, self.stop_runs)
        self.cancelled.check()
        self.asked.check()
        self.objects.check()
        self.lent.check()
        self.tasks.check()
