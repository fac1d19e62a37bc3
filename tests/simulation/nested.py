"""The calls of the simulation that submit tasks, and wait for them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from rain.base.errors import InvariantError, RefusedError, SessionFailedError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import Fetched
from rain.base.wire.requests import CloseSession, Fetch, OpenSession, Submit, WaitFor
from rain.governor.core.results import Failed
from tests.simulation.client import Pause, Program, Step
from tests.simulation.work import MANY_CRASHES, Job, children_of
from tests.support.submissions import Draft

Read = Callable[[str, ObjectId], bytes | None]
"""Reads an object from a governor; None if it is not there (any more)."""


def nested(
    task: TaskId,
    job: Job,
    read: Read,
    waits: Callable[[bool], object],
    ended: Callable[[list[bytes] | Failed], object],
) -> Program:
    """Submits the children of a job; `ended` is told what they give, or why there is nothing."""
    try:
        values = yield from _values(task, job, read, waits)
    except (RefusedError, SessionFailedError) as error:
        ended(Failed(f"a task that waits for others was told: {error}"))
    else:
        ended(values)


def _values(
    task: TaskId, job: Job, read: Read, waits: Callable[[bool], object]
) -> Generator[Step, Any, list[bytes]]:
    session = yield OpenSession("nested", "", OnFailure.CONTINUE, parent=task)
    draft = Draft(session)
    made: list[ObjectId] = []
    for child in children_of(job):
        inputs = [] if child.reads is None else [made[child.reads]]
        config = child.job.pack()
        made += draft.task(*inputs, keep=True, tries=MANY_CRASHES, config=config)[1]
    yield Submit(draft.take(), ())
    waits(True)
    try:
        yield WaitFor(session, (), tuple(made), "all")
    except (RefusedError, SessionFailedError):
        waits(False)
        raise
    waits(False)
    values: list[bytes] = []
    for one in made:
        data = yield from fetched(one, read)
        values.append(data)
    yield CloseSession(session)
    return values


def fetched(target: ObjectId, read: Read) -> Generator[Step, Any, bytes]:
    """Fetches an object until somebody who has it can be reached."""
    while True:
        found: Fetched = yield Fetch(target)
        if found.data is None and not found.holder:
            raise InvariantError(f"the object {target} is nowhere")
        data = found.data if not found.holder else read(found.holder, target)
        if data is not None:
            return bytes(data)
        yield Pause(0.5)
