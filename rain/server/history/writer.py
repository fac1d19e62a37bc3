"""The process that writes the event log: `python -m rain.server.history.writer FILE KEEP`.

It reads batches from its standard input until the end and writes each to the file. It is a separate
process because formatting and writing cost about as much as the turns themselves, and a thread
would compete with the turns for the GIL. It reports errors on its standard output as JSON lines and
continues with the next batch.

The end of the input is the end of the server, even if the server was killed. So signals to the
whole process group do not end it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from attrs import Factory, define, field

from rain.server.core.happenings import Taken
from rain.server.history.retention import ALL_BUT_TOO_MUCH, Keep
from rain.server.history.store import EventStore, open_store
from rain.server.history.trimming import Trimmer

NICE = 5
"""The niceness of the writer, which should not slow down turns and tasks."""

_HEAD = 8


def packed(taken: Taken) -> bytes:
    """Encodes a batch for the writer."""
    body = pickle.dumps(taken, pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(_HEAD, "big") + body


def next_batch(source: BinaryIO) -> Taken | None:
    """Reads the next batch; None at the end of the input, even in the middle of a batch."""
    head = source.read(_HEAD)
    size = int.from_bytes(head, "big")
    body = source.read(size)
    if len(head) < _HEAD or len(body) < size:
        return None
    taken: Taken = pickle.loads(body)  # from the server itself, through its own pipe
    return taken


@define(eq=False)
class Writer:
    """Writes batches, and counts the events that were lost since the last one."""

    store: EventStore
    now: Callable[[], float]
    report: Callable[[str, dict[str, object]], None]
    keep: Keep = ALL_BUT_TOO_MUCH
    lost: int = 0
    failing: bool = False
    _trimmer: Trimmer = field(
        init=False, default=Factory(lambda self: self.store.trimmer(self.keep, self.now), True)
    )

    def write(self, taken: Taken) -> None:
        """Writes a whole batch; if that fails, its events count as lost."""
        lost = self.lost + taken.lost
        try:
            self.store.write(self.now(), taken.happenings, lost)
        except sqlite3.Error as error:
            self.lost = lost + taken.count
            if not self.failing:
                self.failing = True
                self.report("event log cannot be written", {"error": str(error)})
            return
        if lost:
            self.report("events are missing in the event log", {"events": lost})
        self.lost, self.failing = 0, False
        self._trim()

    def _trim(self) -> None:
        try:
            self._trimmer.trim_if_due()
        except sqlite3.Error as error:
            self.failing = True
            self.report("event log cannot be trimmed", {"error": str(error)})

    def finish(self) -> None:
        """Closes the open sessions, because the server has ended."""
        try:
            self.store.close_lost_sessions(self.now(), "the server has ended")
        except sqlite3.Error as error:
            self.report("event log cannot be finished", {"error": str(error)})


def run(
    path: Path,
    source: BinaryIO,
    report: Callable[[str, dict[str, object]], None],
    keep: Keep = ALL_BUT_TOO_MUCH,
) -> None:
    """Writes all batches from a source."""
    with closing(open_store(path)) as store:
        writer = Writer(store, time.time, report, keep)
        while (taken := next_batch(source)) is not None:
            writer.write(taken)
        writer.finish()


def _report(event: str, details: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"event": event, **details}) + "\n")
    sys.stdout.flush()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICE)
    run(Path(sys.argv[1]), sys.stdin.buffer, _report, Keep(**json.loads(sys.argv[2])))


if __name__ == "__main__":
    main()
