"""A data object: an immutable blob or directory, who makes it, who reads it, who holds it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import define

from rain.base.errors import InvariantError
from rain.base.ids import ObjectId, spell
from rain.base.kinds import ObjectKind
from rain.base.states import COPY_TABLE, OBJECT_MOVES, CopyRow, ObjectMove, ObjectState
from rain.graph.handles import NOBODY, Handles

if TYPE_CHECKING:
    from rain.graph.governor import Governor
    from rain.graph.session import Session
    from rain.graph.task import Task
    from rain.graph.wait import Wait


@define(eq=False, repr=False, weakref_slot=False)
class DataObject:
    """A node of the graph.

    The three governor sets are small tuples, because most objects are on one governor: every
    governor lends the tuple of itself alone (`Governor.alone`), so a set costs no memory here. In
    the same way a task lends the tuple of itself to the `consumers` of all that only it reads,
    and a client its `handles`. `data` holds the bytes when the server has them in memory: small
    constants and results. Large constants are `spooled`: the server has them in a file.
    """

    id: ObjectId
    session: Session
    kind: ObjectKind
    producer: Task | None = None  # None for a constant
    handles: Handles = NOBODY  # those that clients have of it
    state: ObjectState = ObjectState.UNFINISHED
    needed_by: int = 0  # consumers that are not done
    remade_by: int = 0  # and those that are finished, but may have to run again
    consumers: Sequence[Task] = ()  # every task that reads it, once; changed by `read_by` only

    scheduled: tuple[Governor, ...] = ()  # where it shall be
    assigned: tuple[Governor, ...] = ()  # who was told to make or to fetch it
    located: tuple[Governor, ...] = ()  # who has all of it

    size: int = 0
    pretended_size: int = 0  # what schedulers take it for, when a test has said so
    data: bytes | None = None
    spooled: bool = False
    content_type: str = ""  # as found when it was made
    user: str = ""  # JSON, set by the task that made it
    waits: list[Wait] | None = None
    sched: object = None  # the scheduler's own

    def __repr__(self) -> str:
        return f"<DataObject {spell(self.id)} {self.state.name.lower()}>"

    @property
    def is_known(self) -> bool:
        """Whether the graph has it: else it has gone, alone or with its session."""
        return self.session.objects.get(self.id) is self

    @property
    def is_finished(self) -> bool:
        """Whether its bytes exist somewhere."""
        return self.state is ObjectState.FINISHED

    @property
    def has_failed(self) -> bool:
        """Whether it will never be made."""
        return self.state is ObjectState.FAILED

    @property
    def is_at_server(self) -> bool:
        """Whether it is never lost, whatever becomes of governors."""
        return self.data is not None or self.spooled

    @property
    def kept(self) -> bool:
        """Whether a client wants its data."""
        return self.handles.wants_data

    @property
    def is_needed(self) -> bool:
        """Whether somebody claims its data (`claims.claims_on` says who)."""
        return self.kept or self.needed_by > 0 or (self.remade_by > 0 and self.is_at_server)

    @property
    def may_have_to_be_made(self) -> bool:
        """Whether its producer, when it has finished, may have to run again for it."""
        wanted = self.kept or self.needed_by > 0 or self.remade_by > 0
        return wanted and not self.is_at_server

    @property
    def expected_size(self) -> int:
        """Its size for schedulers: the user's hint while it is unknown."""
        return self.pretended_size or self.size or self.kind.size_hint

    def move(self, what: ObjectMove) -> None:
        """Goes along the table, or raises and stays."""
        end = OBJECT_MOVES[what].get(self.state)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.state = end

    def copy_row(self, governor: Governor) -> CopyRow | None:
        """Where it stands with this governor; None when the sets contradict the table."""
        facts = (
            self.state is ObjectState.FINISHED,
            governor in self.scheduled,
            governor in self.assigned,
            governor in self.located,
        )
        return _COPY_ROWS.get(facts)

    def read_by(self, alone: tuple[Task]) -> None:
        """One more task reads it, which lends the tuple of itself alone."""
        consumers = self.consumers
        if not consumers:
            self.consumers = alone
        elif isinstance(consumers, list):
            consumers.append(alone[0])
        else:
            self.consumers = [*consumers, *alone]

    def schedule_on(self, governor: Governor) -> None:
        """Adds a governor to those that shall have it."""
        if governor not in self.scheduled:
            self.scheduled = _joined(self.scheduled, governor)
            governor.objects[self] = None

    def assign_to(self, governor: Governor) -> None:
        """Notes that a governor was told to make or fetch it."""
        if governor not in self.assigned:
            self.assigned = _joined(self.assigned, governor)

    def locate_on(self, governor: Governor) -> None:
        """Notes that a governor has all of it."""
        if governor not in self.located:
            self.located = _joined(self.located, governor)

    def unlocate(self, governor: Governor) -> None:
        """The governor does not have it yet, or not any more; it is told to fetch it."""
        self.located = _without(self.located, governor)

    def leave(self, governor: Governor) -> None:
        """Removes a governor from all three sets."""
        self.scheduled = _without(self.scheduled, governor)
        self.assigned = _without(self.assigned, governor)
        self.located = _without(self.located, governor)
        governor.objects.pop(self, None)


def move_objects(objects: Collection[DataObject], what: ObjectMove) -> None:
    """All of them go the same way along the table; raises at the first that cannot."""
    for data_object in objects:
        data_object.move(what)


def order_copies(objects: Iterable[DataObject], governor: Governor) -> None:
    """Notes that a governor, which was told of none of these, is told to get them.

    What the server has in memory goes along with that, so it is there. Neighbours mostly are in the
    same places: the tuple that names these is made once for all of them.
    """
    there = governor.objects
    before: tuple[Governor, ...] | None = None
    after: tuple[Governor, ...] = ()
    for data_object in objects:
        if data_object.assigned is not before:
            before = data_object.assigned
            after = _joined(before, governor)
        data_object.assigned = after
        if data_object.scheduled is before:  # as nearly always
            data_object.scheduled = after
            there[data_object] = None
        else:
            data_object.schedule_on(governor)
        if data_object.data is not None:
            if data_object.located is before:
                data_object.located = after
            else:
                data_object.locate_on(governor)


def forget_copies(objects: Iterable[DataObject]) -> dict[Governor, list[ObjectId]]:
    """Takes them from all governors; returns what each of those was told to hold or to fetch."""
    told: dict[Governor, list[ObjectId]] = {}
    former: tuple[Governor, ...] | None = None
    places: list[tuple[dict[DataObject, None], list[ObjectId]]] = []
    for data_object in objects:
        if data_object.assigned is not former:
            former = data_object.assigned
            places = [(governor.objects, told.setdefault(governor, [])) for governor in former]
        for there, ids in places:
            del there[data_object]
            ids.append(data_object.id)
        if data_object.scheduled is not former:
            for governor in data_object.scheduled:
                governor.objects.pop(data_object, None)
        data_object.scheduled = data_object.assigned = data_object.located = ()
    return told


def expected_bytes(objects: Iterable[DataObject]) -> int:
    """The expected sizes of all of them together."""
    total = 0
    for one in objects:
        total += one.pretended_size or one.size or one.kind.size_hint
    return total


_COPY_ROWS: dict[tuple[bool, bool, bool, bool], CopyRow] = {
    (facts.finished, facts.scheduled, facts.assigned, facts.located): facts.row
    for facts in COPY_TABLE
}


def _joined(governors: tuple[Governor, ...], governor: Governor) -> tuple[Governor, ...]:
    return (*governors, governor) if governors else governor.alone


def _without(governors: tuple[Governor, ...], governor: Governor) -> tuple[Governor, ...]:
    if governor not in governors:
        return governors
    return tuple(other for other in governors if other is not governor)
