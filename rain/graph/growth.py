"""Adds submissions to the graph. Each is verified as a whole before any of it is linked."""

from __future__ import annotations

from collections.abc import Generator
from sys import maxsize

from rain.base.errors import RefusedError
from rain.base.ids import spell
from rain.base.wire.submission import Submission
from rain.graph.draft import Draft
from rain.graph.graph import Graph
from rain.graph.handles import Member
from rain.graph.session import Session
from rain.graph.task import Task


def grow(graph: Graph, session: Session, member: Member, submission: Submission) -> list[Task]:
    """Adds a client's submission to its session; returns its tasks, inputs before consumers.

    Raises `RefusedError` and changes nothing when the submission is inconsistent.
    """
    draft = Draft(graph, session, member, submission)
    try:
        if submission.constants.ids:
            draft.read_constants(0, len(submission.constants.ids))
        draft.read_tasks(0, len(submission.tasks.ids))
        if submission.tasks.inputs:
            for _ in draft.read_inputs(maxsize):
                pass  # in one go
        return _end(draft)
    except RefusedError:
        graph.remains += draft.tasks
        raise


def grow_in_parts(
    graph: Graph, session: Session, member: Member, submission: Submission, size: int
) -> Generator[None, None, list[Task]]:
    """Grows the graph as `grow` does, but pauses after every `size` nodes or inputs.

    The graph may change during a pause. Nothing is linked until the end, when the submission is
    verified against the graph as it is then. To give up earlier, close the generator.
    """
    return (yield from _read_in_parts(Draft(graph, session, member, submission), size))


def grow_again(
    graph: Graph, session: Session, member: Member, submission: Submission, size: int, parts: int
) -> Generator[None, None, list[Task]]:
    """Repeats a `grow_in_parts` that was interrupted after this number of parts.

    If an input was removed after its part was read, this is reported at the end, as without the
    restart.
    """
    draft = Draft(graph, session, member, submission, forgiving=True)
    growing = _read_in_parts(draft, size)
    for _ in range(parts):
        next(growing)
    draft.forgiving = False
    return growing


def _read_in_parts(draft: Draft, size: int) -> Generator[None, None, list[Task]]:
    graph, submission = draft.graph, draft.submission
    try:
        for start in range(0, len(submission.constants.ids), size):
            draft.read_constants(start, start + size)
            yield
        for start in range(0, len(submission.tasks.ids), size):
            draft.read_tasks(start, start + size)
            yield
        if submission.tasks.inputs:
            yield from draft.read_inputs(size)
            yield
        return _end(draft)
    except (RefusedError, GeneratorExit):
        graph.remains += draft.tasks  # tasks and outputs are reference cycles
        raise


def _end(draft: Draft) -> list[Task]:
    """Verifies and links what was read."""
    draft.verify()
    tasks = draft.tasks if draft.creation_order else _inputs_first(draft)
    return draft.link(tasks)


def _inputs_first(draft: Draft) -> list[Task]:
    """Sorts the new tasks so that each comes after the producers of its inputs; refuses cycles."""
    new = set(draft.tasks)
    waiting: dict[Task, int] = {}
    readers: dict[Task, list[Task]] = {}
    for task in draft.tasks:
        producers = {
            data_object.producer
            for data_object in task.inputs
            if data_object.producer is not None and data_object.producer in new
        }
        waiting[task] = len(producers)
        for producer in producers:  # a set, but each only gains this one reader
            readers.setdefault(producer, []).append(task)
    ordered = [task for task in draft.tasks if not waiting[task]]
    for task in ordered:  # grows while it is walked
        for reader in readers.get(task, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ordered.append(reader)
    if len(ordered) < len(draft.tasks):
        stuck = next(task for task in draft.tasks if waiting[task])
        raise RefusedError(
            f"the submission has a cycle: the task {spell(stuck.id)} would wait for itself"
        )
    return ordered
