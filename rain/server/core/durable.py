"""What is kept under the names of durable sessions (`rain.server.core.by_name`)."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define

from rain.base.ids import ClientId, ObjectId
from rain.base.users import OWNER
from rain.graph import DataObject, Graph, Session, Task
from rain.server.core.held import Key, is_there

Place = tuple[Key, int]
"""The key of a task, and the number of equal tasks before it in its session."""

NO_KEY = b""
"""The key of a task that cannot be compared."""


EVERYBODY = "*"
"""In place of a user name: all users."""


@define(eq=False)
class Durable:
    """The tasks under one name. Their outputs are kept, with or without a client."""

    name: str
    since: float
    belongs_to: str = ""  # the user whose it is; "" is the owner of the cluster
    shared_with: tuple[str, ...] = ()  # other users who may open it, or `EVERYBODY`
    tasks: dict[Place, Task] = Factory(dict)
    alone: int = 0  # how many of them cannot be compared with others

    def find(self, place: Place) -> Task | None:
        """The task of this place, if its results can be had."""
        task = self.tasks.get(place)
        return task if task is not None and is_there(task) else None


@define(eq=False)
class Opening:
    """A session that a client has opened by the name."""

    durable: Durable
    made: dict[ObjectId, Key] = Factory(dict)  # keys of what it has submitted
    asked: dict[Key, int] = Factory(dict)  # and how many of them were the same


@define(eq=False)
class DurableSessions:
    """All durable sessions, and the sessions of clients that were opened by their names."""

    by_name: dict[str, Durable] = Factory(dict)
    openings: dict[Session, Opening] = Factory(dict)

    def open(self, session: Session, now: float) -> None:
        """A client has opened this session by its name."""
        durable = self.by_name.get(session.name)
        if durable is None:
            durable = self.by_name[session.name] = Durable(session.name, now, session.belongs_to)
        self.openings[session] = Opening(durable)

    def close(self, session: Session) -> None:
        """A client has closed its session, or has gone."""
        self.openings.pop(session, None)

    def remove(self, name: str) -> Durable:
        """Removes a durable session; open sessions of this name go on as ordinary ones."""
        durable = self.by_name.pop(name)
        for session in [one for one, of in self.openings.items() if of.durable is durable]:
            del self.openings[session]
        return durable

    def of(self, session: Session) -> Durable | None:
        """The one to which a session of a client belongs."""
        opening = self.openings.get(session)
        if opening is not None:
            return opening.durable
        return self.by_name.get(session.name) if session.is_durable else None

    def clients_of(self, durable: Durable) -> set[ClientId]:
        """Those that have it open."""
        return {one.client.id for one, of in self.openings.items() if of.durable is durable}

    def full_name(self, user: str, name: str) -> str:
        """Session names are separate for each user: `sweep` of ada is `ada/sweep` for all others. A
        shared session of the owner is `/sweep`.
        """
        own = f"{user}/{name}"
        if user == OWNER or name.startswith(f"{user}/"):
            return name
        if own in self.by_name or "/" not in name:
            return own
        if name in self.by_name and self.by_name[name].belongs_to != OWNER:
            return name
        of_owner = self.by_name.get(name.removeprefix("/"))
        if name.startswith("/") and of_owner is not None and of_owner.belongs_to == OWNER:
            return of_owner.name
        return own

    def contradictions(self, graph: Graph) -> Iterator[str]:
        """Contradictions in the data, for the checker; empty unless there is a bug."""
        held: set[DataObject] = set()
        for name, durable in self.by_name.items():
            if durable.name != name:
                yield f"the durable session {durable.name!r} is known as {name!r}"
            for task in durable.tasks.values():
                if not task.is_known or not task.session.is_durable or task.session.name != name:
                    yield f"{task!r} is under the name {name!r}, and not of such a session"
                held.update(task.outputs)
        for made in held - graph.held.keys():
            yield f"{made!r} is under a name, and not held"
        for session, opening in self.openings.items():
            if not session.is_durable or self.by_name.get(session.name) is not opening.durable:
                yield f"{session!r} was opened by a name, and is not of that durable session"
            if session.is_left:
                yield f"{session!r} was opened by a name, and its client has gone"
