"""A simulated governor: the real state machine with fake executors and a fake store.

The state machine decides what runs when, what is fetched and what is reported to the server, as in
production. The lab carries out its effects: a task takes virtual time, a fetch uses the simulated
network, and a file is only a number with a size.
"""

from __future__ import annotations

from math import inf

from attrs import define, field

from rain.base.ids import GovernorId, TaskId
from rain.base.resources import Resources
from rain.base.wire import INLINE_LIMIT
from rain.governor.core.effects import FetchObject
from rain.governor.core.events import Event
from rain.governor.core.reactor import Reactor
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.results import Made, Outputs, Stored

LINGER_SECONDS = 5.0


@define
class RunningTask:
    """A task that is running."""

    task: TaskId
    started: float


@define(eq=False)
class Governor:
    """One governor of the cluster."""

    number: int
    id: GovernorId
    address: str
    resources: Resources
    checking: bool = False
    events: list[Event] = field(init=False, factory=list)  # since its last turn
    runs: dict[int, RunningTask] = field(init=False, factory=dict)
    fetches: dict[int, FetchObject] = field(init=False, factory=dict)  # waiting or in progress
    queue: list[int] = field(init=False, factory=list)  # fetches beyond the limit, oldest first
    pulling: int = field(init=False, default=0)
    files: dict[int, int] = field(init=False, factory=dict)  # sizes
    stored: int = field(init=False, default=0)  # bytes in files
    ready_at: float = field(init=False, default=-1.0)  # when its executors are ready; -1 at first
    wakes_at: float = field(init=False, default=inf)
    reactor: Reactor = field(init=False)
    _file_count: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self.reactor = Reactor(
            Offer(self.resources),
            PoolSettings(frozenset()),
            DataLimits(LINGER_SECONDS),
            now=0.0,
            checking=self.checking,
        )

    def content(self, size: int) -> bytes | Stored:
        """New data of `size` bytes: bytes if small, else a file."""
        if size <= INLINE_LIMIT:
            return _zeros(size)
        self._file_count += 1
        self.files[self._file_count] = size
        self.stored += size
        return Stored(self._file_count, size)

    def delete(self, files: list[int]) -> None:
        """Deletes these files."""
        for file in files:
            self.stored -= self.files.pop(file)

    def make(self, sizes: list[int]) -> Outputs:
        """The outputs of a task that has run here."""
        outputs: Outputs = []
        for size in sizes:
            content = self.content(size)
            outputs.append(content if isinstance(content, bytes) else Made(content))
        return outputs


_ZEROS: dict[int, bytes] = {}


def _zeros(size: int) -> bytes:
    """Small contents, cached by length."""
    found = _ZEROS.get(size)
    if found is None:
        found = _ZEROS[size] = bytes(size)
    return found
