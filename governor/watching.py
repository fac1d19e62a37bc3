"""Sends the output of running tasks to the clients that watch it.

A client that shows the output of tasks has a watch at each governor: a list of sessions and tasks.
As long as there is a watch, the governor reads the output files of running tasks twice per second.
Without one it does nothing.

Only whole lines are sent. A line that is rewritten with carriage returns, such as a progress bar,
is sent as it is every few seconds. If a task prints faster than its output can be sent, output is
left out here and only counted; the logs of the task have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import Factory, define, frozen

from rain.base.ids import NO_SESSION, SessionId, TaskId
from rain.base.printed_lines import LineBuffer
from rain.base.wire.printed import PrintedLines, Watch
from rain.common.printed import HEAD, TAIL, KeptText, Streams, readable

LOOK = 0.5
"""Seconds between two looks at the files."""

STATE = 3.0
"""Seconds between two states of a line that is written again and again."""

MOST = 16 * 1024
"""The most bytes of one stream of a task that are sent after one look."""

MOST_WAITING = 512 * 1024
"""Characters of all tasks in one message."""

LONGEST_LINE = 4096
"""Bytes after which a line is sent before it has ended."""

Unsent = tuple[bytes, int]
"""The newest bytes of a stream that were not told, and how many were not told."""

Look = Callable[[int, int], Unsent]
"""Gives that for one of the streams, 0 or 1, after the bytes that were told."""


@frozen
class Cut:
    """The part of a stream that can be reported."""

    text: str
    left_out: int
    told: int  # bytes that were told or left out with it


def cut(unsent: Unsent, *, over: bool, state_due: bool) -> Cut | None:
    """The lines that are whole; None if there are none. When the task is over, all that is left."""
    data, count = unsent
    left_out = count - len(data)
    if left_out:
        begun = data.find(b"\n") + 1
        left_out, data = left_out + begun, data[begun:]
    end = len(data)
    if not over:
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        if len(rest) > LONGEST_LINE or (state_due and b"\r" in rest):
            end = len(data)
    if not end and not left_out:
        return None
    return Cut(as_seen(readable(data[:end])), left_out, left_out + end)


def as_seen(text: str) -> str:
    """The text as a terminal shows it in the end: of lines that were written anew only the last."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def unsent_of(kept: KeptText, told: int) -> Unsent:
    """The part of an ended stream that was not reported."""
    data, size = kept
    count = max(size - told, 0)
    if size > HEAD + TAIL:
        data = data[HEAD:]
    start = max(len(data) - min(count, MOST), 0)
    return data[start:], count


@frozen
class WatchedTask:
    """A task that runs, and how its streams are read."""

    task: TaskId
    name: str
    look: Look
    root: SessionId = NO_SESSION  # of the outermost task that it is inside of


@define(eq=False)
class _Told:
    """How many bytes of the streams of a task were told, and when the last state of a line."""

    bytes: list[int] = Factory(lambda: [0, 0])
    states: list[float] = Factory(lambda: [0.0, 0.0])


@define(eq=False)
class Watching:
    """All watches, and the output that waits to be sent for each."""

    watches: dict[int, Watch] = Factory(dict)
    _told: dict[tuple[int, TaskId], _Told] = Factory(dict)
    _waiting: dict[int, LineBuffer] = Factory(dict)

    def watch(self, number: int, watch: Watch | None) -> None:
        """A watch begins, is for something else now, or ends."""
        if watch is not None:
            self.watches[number] = watch
            return
        self.watches.pop(number, None)
        self._waiting.pop(number, None)
        for key in [key for key in self._told if key[0] == number]:
            del self._told[key]

    def look(self, running: Iterable[WatchedTask], now: float) -> None:
        """Looks at the tasks that run."""
        for task in running:
            for number, watch in self.watches.items():
                if watch.has(task.task, task.root):
                    told = self._told.get((number, task.task)) or _Told()
                    if self._tell(number, task, told, now, over=False):
                        self._told[number, task.task] = told

    def over(self, task: WatchedTask) -> None:
        """A run of a task has ended."""
        for number, watch in self.watches.items():
            told = self._told.pop((number, task.task), None) or _Told()
            if watch.has(task.task, task.root):
                self._tell(number, task, told, 0.0, over=True)

    def take(self) -> list[tuple[int, Sequence[PrintedLines]]]:
        """The output to report, by watch."""
        waiting, self._waiting = self._waiting, {}
        return [(number, lines.take()) for number, lines in waiting.items()]

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def _tell(self, number: int, task: WatchedTask, told: _Told, now: float, *, over: bool) -> bool:
        any_sent = False
        for stream in (0, 1):
            unsent = task.look(stream, told.bytes[stream])
            due = now - told.states[stream] >= STATE
            found = cut(unsent, over=over, state_due=due) if unsent[1] > 0 else None
            if found is None:
                continue
            told.bytes[stream] += found.told
            told.states[stream] = now
            any_sent = True
            waiting = self._waiting.setdefault(number, LineBuffer(MOST_WAITING))
            waiting.add(
                PrintedLines(task.task, task.name, bool(stream), found.text, found.left_out)
            )
        return any_sent


def look_at(streams: Streams) -> Look:
    """Looks at what a run has printed that has ended."""
    return lambda stream, told: unsent_of(streams[stream], told)
