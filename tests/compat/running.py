"""What every program here does: submit, and look at what came out."""

from collections.abc import Callable
from typing import Any

import pytest

from rain.client import Client, Task, TaskException
from rain.common import ID, DataInstance


def results(*made: Task) -> list[DataInstance]:
    """Submits the session of the tasks, all of it kept, and fetches all of their outputs."""
    made[0].session.keep_all()
    made[0].session.submit()
    return [found for task in made for found in task.fetch_outputs()]


def result(task: Task) -> bytes:
    """The bytes of a task's only output."""
    (found,) = results(task)
    return found.get_bytes()


def failure(client: Client, build: Callable[[], Any]) -> str:
    """What the user reads when the task fails that `build` makes in a session of its own."""
    with client.new_session("failing") as session:
        task: Task = build()
        session.submit()
        with pytest.raises(TaskException) as caught:
            task.wait()
    return str(caught.value)


def held(client: Client) -> set[ID]:
    """What some governor holds and is not about to delete."""
    return {
        number
        for governor in client.get_server_info()["governors"]
        for number in set(governor["objects"]) - set(governor["objects_to_delete"])
    }
