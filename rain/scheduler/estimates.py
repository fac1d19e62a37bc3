"""What schedulers may expect: how long tasks take, how large objects get, how fast data travels.

What the user has said counts first, then what tasks of the same name have shown, then the mean of
everything that was measured, and at last a guess. Speeds are measured from real transfers.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import Factory, define

from rain.base.states import ObjectState
from rain.base.wire import INLINE_LIMIT
from rain.graph import DataObject, Governor, Learned, Session, Task

UNKNOWN_SECONDS = 0.001
"""A task's duration while nothing is known of any task: it is better to plan too many at first than
to let somebody wait."""

UNKNOWN_BYTES = 1024
"""An output's size while nothing is known of it."""

FIRST_BANDWIDTH = 125e6
"""Bytes per second, before anything was transferred: a network of one gigabit."""

FORGET = 0.98
"""How much of what was measured before still counts after one more transfer."""

WATCHED = 64
"""Transfers per governor that are timed at once; more would tell nothing new."""

_NOTHING: dict[DataObject, float] = {}


@define
class Speed:
    """The pace of one sort of links: bytes and seconds, older ones count less and less."""

    bytes: float = 0.0
    seconds: float = 0.0
    _last: dict[Governor, float] = Factory(dict)  # when a transfer over its link has ended last

    def note(self, governor: Governor, size: int, ordered: float, now: float) -> None:
        """A transfer over the link of this governor has ended.

        While several are under way together, each of them counts from the end of the one before.
        """
        since = max(ordered, self._last.get(governor, ordered))
        self._last[governor] = now
        self.bytes = self.bytes * FORGET + size
        self.seconds = self.seconds * FORGET + now - since

    @property
    def pace(self) -> float:
        """Bytes per second; 0 when nothing was measured."""
        return self.bytes / self.seconds if self.seconds else 0.0

    def forget(self, governor: Governor) -> None:
        """A governor has left."""
        self._last.pop(governor, None)


@define(eq=False)
class Estimates:
    """Durations, sizes and speeds. Asking changes nothing."""

    all_tasks: Learned = Factory(Learned)  # over every name
    downloads: Speed = Factory(Speed)
    uploads: Speed = Factory(Speed)
    _ordered: dict[Governor, dict[DataObject, float]] = Factory(dict)

    def duration(self, task: Task) -> float:
        """Seconds that the task will take on one governor, without its transfers."""
        kind = task.kind
        if kind.duration_hint:
            return kind.duration_hint
        learned = task.session.learned.get(kind.id)
        if learned is not None and learned.finished:
            return learned.seconds / learned.finished
        mean = self.all_tasks.mean_seconds
        return UNKNOWN_SECONDS if mean is None else mean

    def size(self, data_object: DataObject) -> int:
        """Bytes of the object: its own when it is finished."""
        known = data_object.pretended_size or data_object.size or data_object.kind.size_hint
        if known or data_object.state is ObjectState.FINISHED:
            return known
        producer = data_object.producer
        if producer is None:
            return UNKNOWN_BYTES
        learned = producer.session.learned.get(producer.kind.id)
        if learned is not None and learned.finished:
            return learned.bytes // (learned.finished * len(producer.outputs))
        return UNKNOWN_BYTES

    @property
    def bandwidth(self) -> float:
        """Bytes per second that one link lately had, be it the upload or the download.

        Of the two the faster one counts: the other was only waiting for somebody else.
        """
        return self.measured_bandwidth or FIRST_BANDWIDTH

    @property
    def measured_bandwidth(self) -> float:
        """The same, but 0 as long as nothing was measured."""
        return max(self.downloads.pace, self.uploads.pace)

    def transfer(self, size: int) -> float:
        """Seconds until that many bytes have come from another governor."""
        return 0.0 if size <= INLINE_LIMIT else size / self.bandwidth

    def finished(self, learned: Learned, seconds: Sequence[float], sizes: Sequence[int]) -> None:
        """Tasks of one name have taken so long each, and made so many bytes."""
        longest, made = max(seconds, default=0.0), sum(sizes)
        learned.note(seconds, longest, made)
        self.all_tasks.note(seconds, longest, made)

    def ordered(self, governor: Governor, data_object: DataObject, now: float) -> None:
        """A governor is told to fetch a copy."""
        ordered = self._ordered.setdefault(governor, {})
        ordered[data_object] = now
        if len(ordered) > WATCHED:  # some never arrive, because nobody needs them any more
            del ordered[next(iter(ordered))]

    def arrived(self, governor: Governor, data_object: DataObject, now: float) -> None:
        """A copy has come."""
        ordered = self._ordered.get(governor, _NOTHING).pop(data_object, None)
        if ordered is None:
            return
        size = data_object.size
        self.downloads.note(governor, size, ordered, now)
        source = next((holder for holder in data_object.located if holder is not governor), None)
        if source is not None:
            self.uploads.note(source, size, ordered, now)

    def forget_session(self, session: Session) -> None:
        """Transfers of its objects will not arrive."""
        for governor, ordered in self._ordered.items():
            self._ordered[governor] = {
                data_object: since
                for data_object, since in ordered.items()
                if data_object.session is not session
            }

    def forget(self, governor: Governor) -> None:
        """A governor has left."""
        self._ordered.pop(governor, None)
        self.downloads.forget(governor)
        self.uploads.forget(governor)
