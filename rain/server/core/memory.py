"""Notes how much memory runs have used, and learns the memory of tasks by name."""

from __future__ import annotations

from rain.base.memory import NOTABLE
from rain.base.wire.update import FinishedTasks
from rain.graph import Governor, Task
from rain.server.core.state import State


def note_peaks(state: State, governor: Governor, finished: FinishedTasks) -> None:
    """Of runs that were long enough to be measured."""
    for task_id, number, peak in zip(finished.ids, finished.runs, finished.peaks, strict=True):
        task = state.graph.tasks.get(task_id) if peak else None
        if task is None or task.assigned is not governor or task.run is None:
            continue
        if task.run.number == number:
            task.run.peak = peak
            note_peak(state, task, peak)


def note_peak(state: State, task: Task, peak: int) -> None:
    """A run of the task had so much."""
    learned = task.session.learned.get(task.kind.id)
    if learned is not None:  # else its session has ended meanwhile
        learned.note_peak(peak)
    state.graph.has_needs = state.graph.has_needs or peak > NOTABLE
