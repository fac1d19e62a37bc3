"""What a session remembers of the tasks that it has submitted."""

import gc
import weakref
from typing import Any

import pytest

from rain.base.ids import TaskId
from rain.client import Session, Task, remote
from rain.client.history import History


@remote()
def work(ctx: Any, value: Any) -> Any:
    return value


@remote()
def other(ctx: Any, value: Any) -> Any:
    return value


def test_a_task_is_found_by_its_id_whichever_submit_took_it(session: Session) -> None:
    first, second, third = work(1), other(2), work(3)
    history = History()

    history.note([first])
    history.note([second, third])

    for task in (first, second, third):
        assert history.find(task.packed_id) == (task.wire_shape, task.created_at)
    assert history.find(TaskId(7)) is None
    history.clear()
    assert history.find(first.packed_id) is None


def test_it_holds_no_task() -> None:
    history = History()
    with Session(None, 3) as session:
        task = work(1)
        history.note([task])
        gone, number = weakref.ref(task), task.packed_id
        session.close()
        del task
    gc.collect()

    assert gone() is None
    assert history.find(number) is not None


def test_an_interruption_while_a_task_is_noted_mixes_up_no_others(session: Session) -> None:
    interrupted = Task.__new__(Task)  # without an id, which is noted last
    interrupted.wire_shape, interrupted.created_at = other(1).wire_shape, ()
    task = work(1)
    history = History()

    with pytest.raises(AttributeError):
        history.note([interrupted])
    history.note([task])

    assert history.find(task.packed_id) == (task.wire_shape, task.created_at)
