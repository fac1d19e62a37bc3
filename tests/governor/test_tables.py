import pytest

from rain.base.errors import InvariantError
from rain.base.ids import SessionId
from rain.base.kinds import ObjectKind
from rain.base.resources import ONE_CPU
from rain.governor.core.nodes import DataObject, KnownKind, Meter, ReadyGroup, Session, Task
from rain.governor.core.tables import (
    OBJECT_STEPS,
    TASK_STEPS,
    ObjectMove,
    ObjectRow,
    TaskMove,
    TaskRow,
)
from tests.governor.words import PLAIN, kind_id, object_id, python_kind, task_id


def a_task(row: TaskRow) -> Task:
    kind = KnownKind(python_kind(), ReadyGroup("py", ONE_CPU), (), True)
    session = Session(SessionId(1))
    return Task(
        task_id(100), 1, kind, session, (0, 0, 1), b"", [], [], [], Meter(), kind.group, row
    )


def an_object(row: ObjectRow) -> DataObject:
    kind = ObjectKind(kind_id(PLAIN))
    return DataObject(object_id(10), kind, Session(SessionId(1)), row)


@pytest.mark.parametrize("row", TaskRow)
@pytest.mark.parametrize("move", TaskMove)
def test_a_task_moves_along_its_table_and_nowhere_else(row: TaskRow, move: TaskMove) -> None:
    task = a_task(row)
    ends = [step.end for step in TASK_STEPS if (step.start, step.move) == (row, move)]
    if ends:
        task.move(move)
        assert [task.row] == ends
    else:
        with pytest.raises(InvariantError, match=f"1/100.*cannot move by '{move.value}'"):
            task.move(move)
        assert task.row is row


@pytest.mark.parametrize("row", ObjectRow)
@pytest.mark.parametrize("move", ObjectMove)
def test_an_object_moves_along_its_table_and_nowhere_else(row: ObjectRow, move: ObjectMove) -> None:
    target = an_object(row)
    ends = [step.end for step in OBJECT_STEPS if (step.start, step.move) == (row, move)]
    if ends:
        target.move(move)
        assert [target.row] == ends
    else:
        with pytest.raises(InvariantError, match=f"1/10.*cannot move by '{move.value}'"):
            target.move(move)
        assert target.row is row


def test_what_has_ended_does_not_move_any_more() -> None:
    ended = {TaskRow.FINISHED, TaskRow.FAILED, TaskRow.STOPPED}
    assert not [step for step in TASK_STEPS if step.start in ended]


def test_every_row_can_be_reached() -> None:
    assert {step.end for step in TASK_STEPS} | {TaskRow.WAITING} == set(TaskRow)
    assert {step.end for step in OBJECT_STEPS} == set(ObjectRow)
