"""Collects the decisions of one turn: effects in order, and the update for the server."""

from __future__ import annotations

from rain.base.ids import ObjectId, SessionId
from rain.base.wire.update import ObjectNote, TaskFailure, TaskNote, Update
from rain.governor.core.effects import DeleteFar, DeleteFiles, DropCached, Effect, SendUpdate
from rain.governor.core.nodes import Task
from rain.governor.core.numbers import Numbers

HEAVY = 8 * 1024 * 1024
"""An update with more characters of text is sent at once, and the rest of the turn goes into
another one. A message may be eight times as long, and the texts of one task are shorter.
"""


class Outbox:
    """Collects the effects of a turn; `take` returns and clears them.

    Effects on single things (dropped functions, deleted files) are joined into lists.
    """

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.update = Update()
        self.weight = 0  # characters of text in it, because a message has a limit
        self.files: list[int] = []
        self.awaited_files: list[int] = []  # to be deleted, too; something waits for their room
        self.far_files: list[int] = []  # to be deleted in the far store
        self.waits: dict[Task, bool] = {}  # whether these wait for other tasks; changed
        # By executor: functions and sessions that it may forget.
        self.dropped: dict[int, list[ObjectId]] = {}
        self.forgotten: dict[int, list[SessionId]] = {}
        self.numbers = Numbers()
        self.holds_back = ""  # why tasks wait for room, as the server shall know it
        self.is_full = False  # as the server shall know it
        self._told_hold = "", False

    def has_news(self) -> bool:
        """Whether there is news for the server."""
        update = self.update
        return bool(
            update.finished.ids
            or update.started_ids
            or self.waits
            or update.failed
            or update.ended_ids
            or update.returned_ids
            or update.located
            or update.unfetched
            or update.task_notes
            or update.object_notes
            or update.monitoring
            or update.drains
            or (self.holds_back, self.is_full) != self._told_hold
        )

    def ended(self, task: Task) -> None:
        """Work on a run that was stopped or cancelled has ended."""
        if task.cancelled:
            self.update.ended_ids.append(task.id)
            self.update.ended_runs.append(task.number)

    def returned(self, task: Task) -> None:
        """A run that was asked back has not started here."""
        self.update.returned_ids.append(task.id)
        self.update.returned_runs.append(task.number)

    def started(self, task: Task, start: float) -> None:
        """A task runs, since this time."""
        self.update.started_ids.append(task.id)
        self.update.started_runs.append(task.number)
        self.update.started_times.append(start)

    def blocked(self, task: Task, start: float) -> None:
        """A running task waits for other tasks. Its start is reported first."""
        if not task.reported:
            task.reported = True
            self.started(task, start)
        self.waits[task] = True

    def resumed(self, task: Task) -> None:
        """It goes on."""
        self.waits[task] = False

    def send_update(self, now: float, *, news: bool = True) -> None:
        """Sends the news, or an empty update as a heartbeat."""
        update = self.update
        if update.finished.ids or update.started_ids:
            update.time = now
        for task, waits in self.waits.items():
            if waits != task.reported_blocked:  # else it was short, and the server knows enough
                task.reported_blocked = waits
                (update.blocked_ids if waits else update.resumed_ids).append(task.id)
                (update.blocked_runs if waits else update.resumed_runs).append(task.number)
        self.waits.clear()
        update.holds_back, update.is_full = self._told_hold = self.holds_back, self.is_full
        self.numbers.stamp(update, news=news)
        self.effects.append(SendUpdate(update))
        self.update = Update()
        self.weight = 0

    def note(self, note: TaskNote) -> None:
        """The notes of a task about itself."""
        self.update.task_notes.append(note)
        self.weight += len(note.user) + len(note.debug) + len(note.logs)

    def note_object(self, note: ObjectNote) -> None:
        """Reports the notes on an output."""
        self.update.object_notes.append(note)
        self.weight += len(note.content_type) + len(note.user)

    def fail(self, failure: TaskFailure) -> None:
        """A task has failed."""
        self.update.failed.append(failure)
        self.weight += len(failure.message) + len(failure.debug) + len(failure.exception)

    def take(self) -> list[Effect]:
        """Returns all effects so far, in the order in which they must be carried out."""
        effects = self.effects
        self.effects = []
        dropped, forgotten = self.dropped, self.forgotten
        if dropped or forgotten:
            for executor in dict.fromkeys((*dropped, *forgotten)):
                objects, sessions = dropped.get(executor, []), forgotten.get(executor, [])
                effects.append(DropCached(executor, objects, sessions))
            self.dropped = {}
            self.forgotten = {}
        if self.files:
            effects.append(DeleteFiles(self.files))
            self.files = []
        if self.awaited_files:
            effects.append(DeleteFiles(self.awaited_files, tell=True))
            self.awaited_files = []
        if self.far_files:
            effects.append(DeleteFar(self.far_files))
            self.far_files = []
        return effects
