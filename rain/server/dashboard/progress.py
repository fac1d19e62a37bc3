"""The progress of a session: in total, by task name, and over time."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from rain.server.dashboard.digest import MILLISECOND, TASK_MARKS, Digest, LoggedState

Json: TypeAlias = dict[str, Any]
_MARKS = len(LoggedState)


class Counts(TypedDict):
    """The number of tasks in each state."""

    waiting: int
    running: int
    finished: int
    failed: int
    skipped: int
    cancelled: int


class Group(Counts):
    """The tasks of one name."""

    name: str
    total: int
    mean: float | None  # seconds of the finished ones
    deviation: float | None
    seconds: float
    share: float  # of the seconds of all tasks


def counts(digest: Digest) -> Counts:
    """Counts all tasks."""
    marks = np.bincount(digest.columns.marks(), minlength=_MARKS)
    return _counts([int(count) for count in marks])


def _counts(marks: list[int]) -> Counts:
    return Counts(
        waiting=marks[LoggedState.WAITING],
        running=marks[LoggedState.RUNNING],
        finished=marks[LoggedState.FINISHED],
        failed=marks[LoggedState.FAILED],
        skipped=marks[LoggedState.SKIPPED],
        cancelled=marks[LoggedState.CANCELLED],
    )


def groups(digest: Digest) -> list[Group]:
    """The tasks by name, in the order of first appearance."""
    names = digest.groups.texts
    mark = digest.columns.marks()
    group = digest.columns.groups().astype(np.int64)
    table = np.bincount(group * _MARKS + mark, minlength=len(names) * _MARKS)
    done = mark == LoggedState.FINISHED
    seconds = digest.columns.durations()[done]
    sums = np.bincount(group[done], seconds, minlength=len(names))
    squares = np.bincount(group[done], seconds * seconds, minlength=len(names))
    whole = float(sums.sum())
    made: list[Group] = []
    for place, name in enumerate(names):
        by_mark = [int(count) for count in table[place * _MARKS : (place + 1) * _MARKS]]
        total = sum(by_mark[each] for each in TASK_MARKS)
        if total:
            finished, spent = by_mark[LoggedState.FINISHED], float(sums[place])
            mean = spent / finished if finished else None
            variance = float(squares[place]) / finished - mean * mean if mean is not None else 0.0
            made.append(
                Group(
                    **_counts(by_mark),
                    name=name,
                    total=total,
                    mean=mean,
                    deviation=max(variance, 0.0) ** 0.5 if mean is not None else None,
                    seconds=spent,
                    share=spent / whole if whole else 0.0,
                )
            )
    return made


def over_time(digest: Digest, now: float, points: int = 120) -> Json:
    """The numbers of unfinished and of running tasks, at equal steps over time."""
    mark = digest.columns.marks()
    started = digest.columns.starts()
    ends = started + digest.columns.durations()
    done = mark >= LoggedState.FINISHED
    begun = np.sort(started[done | (mark == LoggedState.RUNNING)])
    ended = np.sort(ends[done])
    first = digest.created or (digest.submissions[0][0] if digest.submissions else now)
    last = max(digest.closed or now, first + MILLISECOND)
    times = np.linspace(first, last, points)
    submitted = _submitted(digest, times)
    over = np.searchsorted(ended, times, "right")
    return {
        "times": [round(float(time), 3) for time in times],
        "unfinished": [int(value) for value in np.maximum(submitted - over, 0)],
        "running": [int(value) for value in np.searchsorted(begun, times, "right") - over],
    }


def _submitted(digest: Digest, times: NDArray[np.float64]) -> NDArray[np.int64]:
    if not digest.submissions:
        return np.zeros(len(times), np.int64)
    when, many = zip(*digest.submissions, strict=True)
    sums = np.concatenate([[0], np.cumsum(np.array(many, np.int64))])
    # A time stands for a whole millisecond.
    return sums[np.searchsorted(np.array(when), times + MILLISECOND, "right")]


def summary(digest: Digest, now: float, read: float) -> Json:
    """The session and its progress; `read` is the fraction of the log that was read."""
    return {
        "session": digest.session,
        "name": digest.name,
        "user": digest.user,
        "client": digest.client,
        "created": digest.created,
        "closed": digest.closed or None,
        "seconds": max((digest.closed or now) - digest.created, 0.0) if digest.created else 0.0,
        "status": status(digest.reason) if digest.created else "unknown",
        "message": digest.message,
        "error": digest.error,
        "failed_task": digest.failed_task or None,
        "submissions": len(digest.submissions),
        "tasks": digest.tasks,
        "objects": digest.objects,
        "beyond": digest.beyond,
        "counts": counts(digest),
        "groups": groups(digest),
        "over_time": over_time(digest, now),
        "read": read,
    }


def status(reason: str) -> str:
    """A word for the end of a session."""
    return {"": "open", "ClientClose": "closed", "Error": "failed"}.get(reason, "server lost")
