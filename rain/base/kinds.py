"""Kinds: the attributes that many tasks, or many data objects, share.

Ten thousand calls of one function share their type, name, resources, labels and content types. That
shared part is a kind: the client sends it once, and each task refers to it by id. A kind is sent
once per session to the server and once per governor from there, and is forgotten with its session.
"""

import enum

from attrs import field, frozen

from rain.base.attempts import ONE_TRY, Attempts
from rain.base.constraints import Constraints
from rain.base.ids import NO_SESSION, KindId, SessionId
from rain.base.near import Near
from rain.base.resources import ONE_CPU, Resources

SAME = "buildin/same"
"""The type of tasks that only pass on the outputs of others; only the server makes such kinds."""

MOST_PRIORITY = 1000
"""The largest priority of a task; the smallest is -1000."""


class DataType(enum.StrEnum):
    """Whether a data object is a string of bytes or a directory."""

    BLOB = "blob"
    DIRECTORY = "dir"


@frozen
class ObjectKind:
    """The shared part of data objects: label, declared content type, blob or directory."""

    id: KindId
    label: str = ""
    content_type: str = ""  # "" if not declared
    data_type: DataType = DataType.BLOB
    user: str = ""  # JSON of the user's own attributes, "" for none
    size_hint: int = 0  # expected bytes, 0 for unknown

    @property
    def spelled(self) -> str:
        """The name of such an object in messages."""
        declared = f" (content type {self.content_type!r})" if self.content_type else ""
        return f"{self.label!r}{declared}"


@frozen
class TaskKind:
    """The shared part of tasks: executor type, resources, and outputs."""

    id: KindId
    task_type: str  # "executor/method", for instance "buildin/concat" or "py/"
    name: str = ""
    resources: Resources = ONE_CPU
    input_labels: tuple[str, ...] = ()  # empty if no input has a label, else one per input
    outputs: tuple[KindId, ...] = field(default=())  # one object kind per output, in order
    user: str = ""  # JSON of the user's own attributes, "" for none
    duration_hint: float = 0.0  # expected seconds, 0 for unknown
    constraints: Constraints | None = None
    attempts: Attempts = ONE_TRY  # how often it may be run until it has failed
    priority: int = 0  # larger goes first among the tasks of its session that wait
    depth: int = 0  # how many tasks it is inside of: set by the server, and not by clients
    root: SessionId = NO_SESSION  # and the session of the outermost of these, set by the server
    cache: str = ""  # the folder that keeps the results of its tasks (rain.base.caching)
    idempotent: bool = False  # its tasks may run twice at a time, so late ones get shadows
    environment: str = ""  # the software that its tasks need (rain.base.environment), "" for none
    near: tuple[Near, ...] = ()  # what its tasks read from outside of the store

    @property
    def spelled(self) -> str:
        """The name of the kind in messages."""
        return f"{self.task_type} {self.name!r}" if self.name else self.task_type
