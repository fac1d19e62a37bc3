"""A digest of the event log of one session, built while the log is read.

A session may have a million tasks, so the data of each task are numbers in a few columns, where
each task has its place. Objects have places, too; for them only the group of the producer is
stored, to count arrows. Names, governors and arrows are stored once.

Numbers of tasks come from clients, and each client that has joined a session has a range of its
own. So places are given page by page, in the order in which pages of numbers appear. Beyond
`MOST_PLACES`, or with more names than `MOST_GROUPS`, tasks are only counted, so that the size of a
digest is bounded.
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

MOST_PLACES = 8_000_000
PAGE = 256
"""Numbers that have their places side by side."""

MOST_GROUPS = 1000
MOST_GOVERNORS = 5000
MOST_LINKS = 20_000
SMALL = 400
"""The most tasks and objects for which every arrow is stored."""

_MOST_SUBMISSIONS = 2000

MILLISECOND = 0.001
"""The resolution of times in the event log."""


class LoggedState(enum.IntEnum):
    """The state of a task according to the log; also the type of a number."""

    UNKNOWN = 0
    OBJECT = 1
    WAITING = 2
    RUNNING = 3
    FINISHED = 4
    FAILED = 5
    SKIPPED = 6  # it will never run, because a task that it needs has failed
    CANCELLED = 7


TASK_MARKS = tuple(mark for mark in LoggedState if mark >= LoggedState.WAITING)


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
    """One entry per place. Views share its memory and must be released before it grows."""

    pages: dict[int, int] = Factory(dict)  # pages of numbers, and where their places are
    page_numbers: list[int] = Factory(list)  # the other way round
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

    def place(self, number: int) -> int:
        """The place of a number, which there is from now on; -1 if there is no room for it."""
        page, offset = divmod(number, PAGE)
        known = self.pages.get(page)
        if known is None:
            known = len(self.page_numbers)
            if number < 0 or (known + 1) * PAGE > MOST_PLACES:
                return -1
            self.pages[page] = known
            self.page_numbers.append(page)
        place = known * PAGE + offset
        missing = place + 1 - len(self.mark)
        if missing > 0:
            missing += len(self.mark) // 4
            for column in (self.mark, self.group, self.governor, self.runs):
                column.frombytes(bytes(column.itemsize * missing))
            for times in (self.started, self.duration):
                times.frombytes(bytes(times.itemsize * missing))
        return place

    def number(self, place: int) -> int:
        """The number that has this place."""
        page, offset = divmod(place, PAGE)
        return self.page_numbers[page] * PAGE + offset


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
    beyond: int = 0  # tasks for which there is no place
    failed_task: int = 0
    error: str = ""
    submissions: list[tuple[float, int]] = Factory(list)  # time and number of tasks
    groups: Names = Factory(lambda: Names(MOST_GROUPS, ["constants"]))
    governors: Names = Factory(lambda: Names(MOST_GOVERNORS))
    columns: Columns = Factory(Columns)
    links: dict[tuple[int, int], int] = Factory(dict)  # arrows from group to group
    arrows: list[tuple[int, int]] | None = Factory(list)  # all of them by place, while they are few
    running: dict[int, None] = field(init=False, factory=dict)  # places

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
            place = columns.place(number)
            if place < 0:
                self.beyond += 1
                continue
            columns.mark[place], columns.group[place] = LoggedState.WAITING, group
            for output in outputs:
                made = columns.place(output[1])
                if made >= 0:
                    columns.mark[made], columns.group[made] = LoggedState.OBJECT, group
                    if self.arrows is not None:
                        self.arrows.append((place, made))
        for number, name, inputs, _ in tasks:
            group, place = groups.number(name), columns.place(number)
            for given in inputs:
                self._link(given["id"][1], place, group)

    def _link(self, number: int, task: int, group: int) -> None:
        columns = self.columns
        given = columns.place(number)
        source = columns.group[given] if given >= 0 else 0
        link = (source, group)
        if link in self.links or len(self.links) < MOST_LINKS:
            self.links[link] = self.links.get(link, 0) + 1
        if self.arrows is not None and given >= 0 and task >= 0:
            columns.mark[given] = LoggedState.OBJECT
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
                self._will_never_run(detail[0], time, LoggedState.SKIPPED)
            elif event_type == "TaskCancelled":
                self._will_never_run(detail[0], time, LoggedState.CANCELLED)
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
        number, start, _, governor, _ = detail
        columns = self.columns
        place = columns.place(number)
        if place < 0:
            return
        columns.mark[place] = LoggedState.RUNNING
        columns.governor[place] = self.governors.number(governor)
        columns.runs[place] = min(columns.runs[place] + 1, 255)
        columns.started[place] = _seconds(start) or time
        columns.duration[place] = 0.0
        self.running[place] = None

    def _finished(self, detail: Sequence[Any], time: float) -> None:
        number, start, duration, governor, error = detail
        if error is not None:
            self.failed_task, self.error = number, error
        columns = self.columns
        place = columns.place(number)
        if place < 0:
            return
        columns.mark[place] = LoggedState.FINISHED if error is None else LoggedState.FAILED
        columns.governor[place] = self.governors.number(governor)
        columns.started[place] = _seconds(start) or time
        columns.duration[place] = duration or 0.0
        self.running.pop(place, None)

    def _to_be_tried_again(self, number: int) -> None:
        place = self.columns.place(number)
        if place >= 0:
            self.columns.mark[place] = LoggedState.WAITING
            self.running.pop(place, None)

    def _will_never_run(self, number: int, time: float, mark: LoggedState) -> None:
        place = self.columns.place(number)
        if place >= 0:
            self.columns.mark[place] = mark
            self.columns.started[place] = time  # when it ended
            self.running.pop(place, None)

    def _governor_removed(self, governor: str) -> None:
        """Marks the tasks that ran there as waiting again."""
        gone = self.governors.number(governor)
        columns = self.columns
        for place in [one for one in self.running if columns.governor[one] == gone]:
            columns.mark[place] = LoggedState.WAITING
            del self.running[place]


def _seconds(text: str | None) -> float:
    return datetime.fromisoformat(text).timestamp() if text else 0.0
