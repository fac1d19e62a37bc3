"""Tasks that extend the session that they belong to."""

from typing import Any

from rain.client.nested import is_in_a_task, process_client
from rain.client.session import Session
from rain.common.errors import RainException


def task_session(ctx: Any) -> Session:
    """The session of the running task, so that a function can submit tasks to it.

    What it submits goes on when the task has ended. Until then it counts as deeper than the task,
    which may wait for it, as for what `get_client` submits.

    >>> @remote()
    ... def grow(ctx):
    ...     session = task_session(ctx)
    ...     with session.bind_only():
    ...         text = tasks.Concat((blob("ra"), blob("in")))
    ...     return session.compute(text).get_str()
    >>> session.compute(grow()).get_str()
    'rain'
    """
    if not is_in_a_task():
        raise RainException("task_session is for functions that run as tasks")
    return process_client().join_session(ctx.spec.id.session_id)
