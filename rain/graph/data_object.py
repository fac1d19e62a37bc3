"""The data object node: an immutable blob or directory, with its producer, its readers and its
copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import define

from rain.base.copies import CopyRow
from rain.base.errors import InvariantError
from rain.base.ids import ObjectId, spell
from rain.base.kinds import ObjectKind
from rain.base.states import OBJECT_MOVES, ObjectMove, ObjectState
from rain.graph.handles import NOBODY, Handles

if TYPE_CHECKING:
    from rain.graph.copy import Copy
    from rain.graph.governor import Governor
    from rain.graph.session import Session
    from rain.graph.task import Task
    from rain.graph.wait import Wait


@define(eq=False, repr=False, weakref_slot=False)
class DataObject:
    """A node of the graph.

    Objects that only one task reads share the tuple of that task as `consumers`, and nodes of
    which only one client has a handle share its value as `handles`. `data` holds the bytes when the
    server has them in memory: small constants and results. Large constants are `spooled`: the
    server has them in a file.
    """

    id: ObjectId
    session: Session
    kind: ObjectKind
    producer: Task | None = None  # None for a constant
    handles: Handles = NOBODY  # of clients
    state: ObjectState = ObjectState.UNFINISHED
    needed_by: int = 0  # consumers that are not done
    remade_by: int = 0  # and those that are finished, but may have to run again
    consumers: Sequence[Task] = ()  # each task that reads it, once

    copies: tuple[Copy, ...] = ()  # on governors; none while it is unfinished

    size: int = 0
    pretended_size: int = 0  # the size that schedulers see, if a test has set one
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
        """Whether it is still in the graph."""
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
        """Whether the server has its bytes, so that no loss of a governor can lose it."""
        return self.data is not None or self.spooled

    @property
    def kept(self) -> bool:
        """Whether a client wants its data."""
        return self.handles.wants_data

    @property
    def is_needed(self) -> bool:
        """Whether its data is claimed (`claims.claims_on` says who)."""
        return self.kept or self.needed_by > 0 or (self.remade_by > 0 and self.is_at_server)

    @property
    def may_have_to_be_made(self) -> bool:
        """Whether its finished producer may have to run again for it."""
        wanted = self.kept or self.needed_by > 0 or self.remade_by > 0
        return wanted and not self.is_at_server

    @property
    def scheduled(self) -> tuple[Governor, ...]:
        """The governors where it is or will be: those with copies, or that of its producer."""
        if self.state is not ObjectState.UNFINISHED:
            return tuple([copy.governor for copy in self.copies])
        maker = None if self.producer is None else self.producer.scheduled
        return () if maker is None else (maker,)

    @property
    def located(self) -> tuple[Governor, ...]:
        """The governors that have all of it."""
        return tuple([copy.governor for copy in self.copies if copy.row is CopyRow.HELD])

    @property
    def expected_size(self) -> int:
        """Its size for schedulers: the user's hint while it is unknown."""
        return self.pretended_size or self.size or self.kind.size_hint

    def move(self, what: ObjectMove) -> None:
        """Makes a move of the state table; a forbidden move raises and changes nothing."""
        end = OBJECT_MOVES[what].get(self.state)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.state = end
