"""The tasks that are kept under the name of one durable session (`rain.server.core.by_name`)."""

from __future__ import annotations

from attrs import Factory, define

from rain.base.ids import ObjectId
from rain.graph import Task
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
    alone: int = (
        0  # how many of them were no other's equal, since nothing can be compared with them
    )

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
