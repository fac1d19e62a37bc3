"""The wait of a client: a request that is answered when enough tasks or objects are done."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from attrs import define

from rain.base.ids import RequestId

if TYPE_CHECKING:
    from rain.graph.data_object import DataObject
    from rain.graph.session import Session
    from rain.graph.task import Task


class WaitMode(enum.Enum):
    """When a wait is over."""

    ALL = "all"  # all named tasks and objects are done
    SOME = "some"  # at least one of them is
    SESSION = "session"  # every task of the session is done
    NEWS = "news"  # more tasks of the session are done than the client was told of
    GLANCE = "glance"  # at once, with the same answer
    FETCH = "fetch"  # the one named object is finished and its bytes are wanted


WAIT_MODES = {mode.value: mode for mode in WaitMode}
"""By their names; `WaitMode` would look them up, too, but in three steps."""


@define(eq=False)
class Wait:
    """A wait of a client, which is over when `remaining` more of its tasks and objects are done."""

    request: RequestId
    mode: WaitMode
    session: Session
    tasks: tuple[Task, ...] = ()
    objects: tuple[DataObject, ...] = ()
    remaining: int = 0
    since: int = 0  # how many done tasks the client was told of
    by_owner: bool = True  # of the session; results are delivered only to it
