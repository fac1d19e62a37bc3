"""Estimates for schedulers: durations of tasks, sizes of objects, speeds of transfers.

The first known value counts: the user's hint, the mean of earlier tasks of the same name, the mean
of all measurements, a default. Speeds are measured from real transfers.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import Factory, define

from rain.base.states import ObjectState
from rain.base.wire import INLINE_LIMIT
from rain.graph import DataObject, Governor, Learned, Session, Task

UNKNOWN_SECONDS = 0.001
"""A task's duration while nothing is known of any task. It is better to plan too many tasks at
first than to leave cpus idle."""

UNKNOWN_BYTES = 1024
"""An output's size while nothing is known."""

FIRST_BANDWIDTH = 125e6
"""Bytes per second before the first transfer: a network of one gigabit."""

FORGET = 0.98
"""The factor by which older measurements decay with each transfer."""

WATCHED = 64
"""The most transfers per governor that are timed at once."""

_NOTHING: dict[DataObject, float] = {}


@define
class Speed:
    """The speed of uploads or downloads: decaying sums of bytes and seconds."""

    bytes: float = 0.0
    seconds: float = 0.0
    _last: dict[Governor, float] = Factory(dict)  # the end of the last transfer over its link

    def note(self, governor: Governor, size: int, ordered: float, now: float) -> None:
        """A transfer over the link of this governor has ended.

        Of overlapping transfers, each is timed from the end of the previous one.
        """
        since = max(ordered, self._last.get(governor, ordered))
        self._last[governor] = now
        self.bytes = self.bytes * FORGET + size
        self.seconds = self.seconds * FORGET + now - since

    @property
    def pace(self) -> float:
        """Bytes per second; 0 without measurements."""
        return self.bytes / self.seconds if self.seconds else 0.0

    def forget(self, governor: Governor) -> None:
        """A governor has left."""
        self._last.pop(governor, None)


@define(eq=False)
class Estimates:
    """Durations, sizes and speeds. Queries change nothing."""

    all_tasks: Learned = Factory(Learned)  # over all names
    downloads: Speed = Factory(Speed)
    uploads: Speed = Factory(Speed)
    _ordered: dict[Governor, dict[DataObject, float]] = Factory(dict)

    def duration(self, task: Task) -> float:
        """The expected seconds of the task without transfers."""
        kind = task.kind
        if kind.duration_hint:
            return kind.duration_hint
        learned = task.session.learned.get(kind.id)
        if learned is not None and learned.finished:
            return learned.seconds / learned.finished
        if learned is not None and learned.least:
            return learned.least
        mean = self.all_tasks.mean_seconds
        return UNKNOWN_SECONDS if mean is None else mean

    def size(self, data_object: DataObject) -> int:
        """The expected bytes of the object; the real ones if it is finished."""
        known = data_object.expected_size
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
        """Recent bytes per second of one link, the maximum of upload and download.

        The slower of the two was limited by something else.
        """
        return self.measured_bandwidth or FIRST_BANDWIDTH

    @property
    def measured_bandwidth(self) -> float:
        """Like `bandwidth`, but 0 without measurements."""
        return max(self.downloads.pace, self.uploads.pace)

    def transfer(self, size: int) -> float:
        """Seconds to transfer this many bytes from another governor."""
        return 0.0 if size <= INLINE_LIMIT else size / self.bandwidth

    def finished(self, learned: Learned, seconds: Sequence[float], sizes: Sequence[int]) -> None:
        """Tasks of one name have finished with these durations and output sizes."""
        longest, made = max(seconds, default=0.0), sum(sizes)
        learned.note(seconds, longest, made)
        self.all_tasks.note(seconds, longest, made)

    def ordered(self, governor: Governor, data_object: DataObject, now: float) -> None:
        """A governor is told to fetch a copy."""
        ordered = self._ordered.setdefault(governor, {})
        ordered[data_object] = now
        if len(ordered) > WATCHED:  # some never arrive, because they are no longer needed
            del ordered[next(iter(ordered))]

    def arrived(self, governor: Governor, data_object: DataObject, now: float) -> None:
        """A copy has arrived."""
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
