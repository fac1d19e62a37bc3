"""Every move that the tables allow works; every other one raises and changes nothing."""

from __future__ import annotations

from itertools import product

import attrs
import pytest

from rain.base.errors import InvariantError
from rain.base.ids import ClientId, KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import (
    OBJECT_MOVES,
    TASK_FACTS,
    TASK_STEPS,
    ObjectMove,
    ObjectState,
    TaskMove,
    TaskRow,
)
from rain.graph import Client, DataObject, Session, Task

SESSION = Session(SessionId(1), Client(ClientId(1)))


def task_in(row: TaskRow) -> Task:
    kind = TaskKind(KindId(pack(1, 10)), "py/")
    return Task(TaskId(pack(1, 11)), 1, SESSION, kind, b"", (), row=row)


def object_in(state: ObjectState) -> DataObject:
    kind = ObjectKind(KindId(pack(1, 12)))
    return DataObject(ObjectId(pack(1, 13)), SESSION, kind, state=state)


def fields(node: Task | DataObject) -> dict[str, object]:
    return {field.name: getattr(node, field.name) for field in attrs.fields(type(node))}


@pytest.mark.parametrize(
    ("row", "move"), list(product(TaskRow, TaskMove)), ids=lambda member: member.value
)
def test_a_task_moves_along_its_table_or_not_at_all(row: TaskRow, move: TaskMove) -> None:
    # given
    task = task_in(row)
    before = fields(task)
    ends = [step.end for step in TASK_STEPS if step.start is row and step.move is move]

    # when / then
    if ends:
        task.move(move)
        assert fields(task) == {**before, "row": ends[0]}
        assert task.state is TASK_FACTS[ends[0]].state
    else:
        with pytest.raises(InvariantError, match=f"cannot move by '{move.value}'"):
            task.move(move)
        assert fields(task) == before


@pytest.mark.parametrize(
    ("state", "move"), list(product(ObjectState, ObjectMove)), ids=lambda member: member.name
)
def test_an_object_moves_along_its_table_or_not_at_all(
    state: ObjectState, move: ObjectMove
) -> None:
    # given
    data_object = object_in(state)
    before = fields(data_object)
    end = OBJECT_MOVES[move].get(state)

    # when / then
    if end is not None:
        data_object.move(move)
        assert fields(data_object) == {**before, "state": end}
    else:
        with pytest.raises(InvariantError, match=f"cannot move by '{move.value}'"):
            data_object.move(move)
        assert fields(data_object) == before


def test_nodes_say_what_they_are() -> None:
    assert repr(task_in(TaskRow.QUEUED)) == "<Task 1/11 queued>"
    assert repr(object_in(ObjectState.REMOVED)) == "<DataObject 1/13 removed>"
    assert repr(SESSION) == "<Session 1 ''>"
    assert repr(SESSION.client) == "<Client 1>"
