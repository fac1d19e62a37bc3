"""A digest of the event log of one session, built while the log is read.

A session may have a million tasks, so the data of each task are numbers in a few columns, indexed
by the number of the task. Objects share these numbers; for them only the group of the producer is
stored, to count arrows. Names, governors and arrows are stored once.

Numbers come from clients. Beyond `MOST_NUMBERS`, or with more names than `MOST_GROUPS`, tasks are
only counted, so that the size of a digest is bounded.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from attrs import Factory, define, field
from numpy.typing import NDArray

MOST_NUMBERS = 8_000_000
MOST_GROUPS = 1000
MOST_GOVERNORS = 5000
MOST_LINKS = 20_000
SMALL = 400
"""The most tasks and objects for which every arrow is stored."""

_MOST_SUBMISSIONS = 2000


class Mark(enum.IntEnum):
    """The state of a task according to the log; also the type of a number."""

    UNKNOWN = 0
    OBJECT = 1
    WAITING = 2
    RUNNING = 3
    FINISHED = 4
    FAILED = 5
    SKIPPED = 6  # it will never run, because a task that it needs has failed
    CANCELLED = 7


TASK_MARKS = tuple(mark for mark in Mark if mark >= Mark.WAITING)


@define(eq=False)
class Names:
    """Numbers for texts; the last number stands for all texts beyond the limit."""

    most: int
    texts: list[str] = Factory(list)
    _numbers: dict[str, int] = Factory(dict)

    def number(self, text: str) -> int:
        """The number of a text."""
        known = self._numbers.get(text)
        if known is None:
            known = min(len(self.texts), self.most - 1)
            if len(self.texts) < self.most:
                self.texts.append(text if known < self.most - 1 else "(all others)")
                self._numbers[text] = known
        return known


@define(eq=False)
class Columns:
    """One entry per number. Views share its memory and must be released before it grows."""

    mark: array[int] = Factory(lambda: array("B", [0]))
    group: array[int] = Factory(lambda: array("H", [0]))
    governor: array[int] = Factory(lambda: array("H", [0]))
    runs: array[int] = Factory(lambda: array("B", [0]))
    started: array[float] = Factory(lambda: array("d", [0.0]))
    duration: array[float] = Factory(lambda: array("d", [0.0]))

    def marks(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.mark, np.uint8)

    def groups(self) -> NDArray[np.uint16]:
        return np.frombuffer(self.group, np.uint16)

    def governors(self) -> NDArray[np.uint16]:
        return np.frombuffer(self.governor, np.uint16)

    def starts(self) -> NDArray[np.float64]:
        return np.frombuffer(self.started, np.float64)

    def durations(self) -> NDArray[np.float64]:
        return np.frombuffer(self.duration, np.float64)

    def reach(self, number: int) -> bool:
        """Makes room for a number; False if it is too large."""
        missing = number + 1 - len(self.mark)
        if missing > 0:
            if not 0 <= number < MOST_NUMBERS:
                return False
            missing += len(self.mark) // 4
            for column in (self.mark, self.group, self.governor, self.runs):
                column.frombytes(bytes(column.itemsize * missing))
            for times in (self.started, self.duration):
                times.frombytes(bytes(times.itemsize * missing))
        return number >= 0


@define(eq=False)
class Digest:
    """The digest of one session."""

    session: int
    last: int = 0  # the newest event read so far
    name: str = ""
    user: Any = None
    client: str = ""
    created: float = 0.0
    closed: float = 0.0
    reason: str = ""
    message: str = ""
    tasks: int = 0
    objects: int = 0
    beyond: int = 0  # tasks whose numbers are too large
    failed_task: int = 0
    error: str = ""
    submissions: list[tuple[float, int]] = Factory(list)  # time and number of tasks
    groups: Names = Factory(lambda: Names(MOST_GROUPS, ["constants"]))
    governors: Names = Factory(lambda: Names(MOST_GOVERNORS))
    columns: Columns = Factory(Columns)
    links: dict[tuple[int, int], int] = Factory(dict)  # arrows from group to group
    arrows: list[tuple[int, int]] | None = Factory(list)  # all of them, while they are few
    running: dict[int, None] = field(init=False, factory=dict)

    # Submissions.

    def submitted(self, time: float, tasks: int, objects: int) -> None:
        """A submission was accepted; its tasks follow."""
        self.tasks += tasks
        self.objects += objects
        if len(self.submissions) < _MOST_SUBMISSIONS:
            self.submissions.append((time, tasks))
        else:
            self.submissions[-1] = (time, self.submissions[-1][1] + tasks)
        if self.tasks + self.objects > SMALL:
            self.arrows = None

    def learn(self, tasks: Sequence[Sequence[Any]]) -> None:
        """Adds tasks of the submission, in order: number, name, inputs, outputs."""
        columns, groups = self.columns, self.groups
        for number, name, _, outputs in tasks:
            group = groups.number(name)
            if not columns.reach(number):
                self.beyond += 1
                continue
            columns.mark[number], columns.group[number] = Mark.WAITING, group
            for output in outputs:
                made = output[1]
                if columns.reach(made):
                    columns.mark[made], columns.group[made] = Mark.OBJECT, group
                    if self.arrows is not None:
                        self.arrows.append((number, made))
        for number, name, inputs, _ in tasks:
            group = groups.number(name)
            for given in inputs:
                self._link(given["id"][1], number, group)

    def _link(self, given: int, task: int, group: int) -> None:
        columns = self.columns
        known = 0 <= given < len(columns.mark)
        source = columns.group[given] if known else 0
        link = (source, group)
        if link in self.links or len(self.links) < MOST_LINKS:
            self.links[link] = self.links.get(link, 0) + 1
        if self.arrows is not None and columns.reach(given):
            columns.mark[given] = Mark.OBJECT
            self.arrows.append((given, task))

    # Events.

    def happened(self, rows: Iterable[Sequence[Any]]) -> None:
        """Adds rows of the log in order: id, event type, time, and data."""
        for event_id, event_type, time, detail in rows:
            self.last = event_id
            if event_type == "TaskStarted":
                self._started(detail, time)
            elif event_type == "TaskFinished":
                self._finished(detail, time)
            elif event_type == "TaskRunFailed":
                self._to_be_tried_again(detail[0])
            elif event_type == "TaskSkipped":
                self._will_never_run(detail[0], time, Mark.SKIPPED)
            elif event_type == "TaskCancelled":
                self._will_never_run(detail[0], time, Mark.CANCELLED)
            elif event_type == "GovernorRemoved":
                self._governor_removed(detail["governor"])
            elif event_type == "SessionNew":
                self.name = str(detail["spec"].get("name", ""))
                self.user = detail["spec"].get("user")
                self.client, self.created = detail["client"], time
            elif event_type == "SessionClosed":
                self.closed, self.reason = time, detail["reason"]
                self.message = detail["message"]

    def _started(self, detail: Sequence[Any], time: float) -> None:
        number: int = detail[0]
        start, _, governor, _ = detail[1:]
        columns = self.columns
        if not columns.reach(number):
            return
        columns.mark[number] = Mark.RUNNING
        columns.governor[number] = self.governors.number(governor)
        columns.runs[number] = min(columns.runs[number] + 1, 255)
        columns.started[number] = _seconds(start) or time
        columns.duration[number] = 0.0
        self.running[number] = None

    def _finished(self, detail: Sequence[Any], time: float) -> None:
        number, start, duration, governor, error = detail
        if error is not None:
            self.failed_task, self.error = number, error
        columns = self.columns
        if not columns.reach(number):
            return
        columns.mark[number] = Mark.FINISHED if error is None else Mark.FAILED
        columns.governor[number] = self.governors.number(governor)
        columns.started[number] = _seconds(start) or time
        columns.duration[number] = duration or 0.0
        self.running.pop(number, None)

    def _to_be_tried_again(self, number: int) -> None:
        if self.columns.reach(number):
            self.columns.mark[number] = Mark.WAITING
            self.running.pop(number, None)

    def _will_never_run(self, number: int, time: float, mark: Mark) -> None:
        if self.columns.reach(number):
            self.columns.mark[number] = mark
            self.columns.started[number] = time  # when it ended
            self.running.pop(number, None)

    def _governor_removed(self, governor: str) -> None:
        """Marks the tasks that ran there as waiting again."""
        gone = self.governors.number(governor)
        columns = self.columns
        for number in [one for one in self.running if columns.governor[one] == gone]:
            columns.mark[number] = Mark.WAITING
            del self.running[number]


def _seconds(text: str | None) -> float:
    return datetime.fromisoformat(text).timestamp() if text else 0.0
