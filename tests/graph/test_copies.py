"""Copies move along their table, or raise and change nothing; both ends always list the same."""

from __future__ import annotations

from itertools import product

import attrs
import pytest

from rain.base.copies import COPY_MOVES, COPY_STEPS, STORED, CopyMove, CopyRow
from rain.base.errors import InvariantError
from rain.base.ids import ClientId, GovernorId, KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.states import ObjectState
from rain.graph import Client, DataObject, Governor, Session, Task
from rain.graph.copy import Copy, forget_copies, move_copy, row_of, tell_of_copies
from rain.server.core.messages import GovernorLeft, GovernorUpdated
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import scene

SESSION = Session(SessionId(1), Client(ClientId(1)))
FINISHED_ROWS = (CopyRow.NONE, *STORED)


def governor(number: int = 1) -> Governor:
    return Governor(GovernorId(number), number, f"host:{number}", Resources(1))


def finished(place: Governor, row: CopyRow, number: int = 13) -> DataObject:
    """A finished object whose copy on this governor is in this row."""
    kind = ObjectKind(KindId(pack(1, 12)))
    made = DataObject(ObjectId(pack(1, number)), SESSION, kind, state=ObjectState.FINISHED)
    if row is not CopyRow.NONE:
        copy = place.objects[made] = Copy(made, place, row)
        made.copies = (copy,)
    return made


def unfinished(scheduled: Governor | None, assigned: Governor | None) -> DataObject:
    """An object whose producer is planned and was sent to these."""
    kind = TaskKind(KindId(pack(1, 10)), "py/")
    producer = Task(TaskId(pack(1, 11)), 1, SESSION, kind, b"", ())
    producer.scheduled, producer.assigned = scheduled, assigned
    return DataObject(ObjectId(pack(1, 14)), SESSION, ObjectKind(KindId(pack(1, 12))), producer)


ALLOWED = [step for step in COPY_STEPS if step.start in FINISHED_ROWS]


@pytest.mark.parametrize(
    "step", ALLOWED, ids=[f"{step.start.value}-{step.move.value}" for step in ALLOWED]
)
def test_an_allowed_move_leads_where_the_table_says(step: object) -> None:
    # given
    found = next(one for one in ALLOWED if one is step)
    place = governor()
    made = finished(place, found.start)
    # when
    move_copy(made, place, found.move)
    # then: the object and its governor list the same copy, or none
    assert row_of(made, place) is found.end
    assert list(made.copies) == list(place.objects.values())
    assert made.scheduled == (() if found.end is CopyRow.NONE else (place,))
    assert made.located == ((place,) if found.end is CopyRow.HELD else ())


@pytest.mark.parametrize(("row", "move"), list(product(FINISHED_ROWS, CopyMove)))
def test_a_forbidden_move_names_both_nodes_and_changes_nothing(
    row: CopyRow, move: CopyMove
) -> None:
    if row in COPY_MOVES[move]:
        return
    place = governor()
    made = finished(place, row)
    before = [attrs.astuple(copy, recurse=False) for copy in made.copies]
    with pytest.raises(InvariantError, match=rf"of <DataObject .*> on <Governor 1 .* {row.value}"):
        move_copy(made, place, move)
    assert [attrs.astuple(copy, recurse=False) for copy in made.copies] == before
    assert list(made.copies) == list(place.objects.values())


@pytest.mark.parametrize("move", list(CopyMove))
def test_an_unfinished_object_never_gets_a_copy(move: CopyMove) -> None:
    place = governor()
    for made in (unfinished(None, None), unfinished(place, None), unfinished(place, place)):
        with pytest.raises(InvariantError, match="cannot move"):
            move_copy(made, place, move)
        assert not made.copies
        assert not place.objects


def test_an_unfinished_object_is_expected_where_its_producer_is() -> None:
    here, elsewhere = governor(1), governor(2)
    assert row_of(unfinished(None, None), here) is CopyRow.NONE
    assert row_of(unfinished(here, None), here) is CopyRow.EXPECTED
    assert row_of(unfinished(here, here), here) is CopyRow.MAKING
    assert row_of(unfinished(here, here), elsewhere) is CopyRow.NONE
    assert unfinished(here, None).scheduled == (here,)
    assert unfinished(None, None).scheduled == unfinished(here, here).located == ()


def test_a_governor_is_told_of_all_or_of_none() -> None:
    # given: one that it has already, behind one that it has not
    place = governor()
    new, known = finished(place, CopyRow.NONE, 13), finished(place, CopyRow.COMING, 15)
    # when
    with pytest.raises(InvariantError, match="cannot be told to get <DataObject"):
        tell_of_copies((new, known), place)
    # then
    assert not new.copies
    assert list(place.objects) == [known]


def test_what_the_server_has_in_memory_arrives_with_the_word() -> None:
    place = governor()
    small, large = finished(place, CopyRow.NONE, 13), finished(place, CopyRow.ORDERED, 15)
    small.data = b"x"
    tell_of_copies((small, large), place)
    assert (row_of(small, place), row_of(large, place)) == (CopyRow.HELD, CopyRow.COMING)


def test_only_governors_that_were_told_of_a_copy_hear_of_its_end() -> None:
    first, second = governor(1), governor(2)
    made = finished(first, CopyRow.HELD)
    move_copy(made, second, CopyMove.ORDER)
    assert forget_copies((made,)) == {first: [made.id]}
    assert not made.copies
    assert not first.objects
    assert not second.objects


def test_a_copy_under_way_ends_with_the_last_holder_of_an_object_that_nobody_needs() -> None:
    # given: two objects whose only reader finishes; one of them is let go in a later turn
    settings = ReactorSettings(debug=True, governor_silence=1e9, let_go_at_once=1)
    s = scene(1, 1, settings=settings)
    (first, (a,)), (second, (b,)) = s.draft.task(), s.draft.task()
    reader, _ = s.draft.task(a, b)
    s.submit()
    s.run(first)
    s.run(second)
    s.copy(b, to=1)
    s.assign(reader)
    # when: its holder is lost in the same turn
    holder, other = s.governors
    update = holder.finished(reader)
    s.world.governors.remove(holder)
    s.world.turn(GovernorUpdated(holder.id, update), GovernorLeft(holder.id, "lost", False))
    # then: the other one fetches it no more
    assert b in [dropped for orders in other.told for dropped in orders.drops]
    assert not other.node.objects
