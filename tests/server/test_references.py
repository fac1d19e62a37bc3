"""Futures inside of arguments and of data: what they claim, and what outlives its session."""

from __future__ import annotations

import pytest

from rain.base.ids import ObjectId
from rain.base.states import TaskRow
from rain.graph.claims import Claim, Why, claims_on
from rain.server.core.messages import Refuse
from tests.server.going_on import finished, goes_on, nodes, settle, states

# Arguments.


def test_a_task_does_not_wait_for_what_is_inside_of_its_arguments() -> None:
    s = goes_on(2)
    first, (inside,) = s.draft.task(keep=True)
    second, _ = s.draft.task()
    s.draft.contain(second, inside)
    s.submit()
    assert s.world.task(second).row is TaskRow.READY
    s.assign(second)
    assert s.governors[0].inputs == {second: []}
    assert claims_on(s.world.object(inside))[-1] == Claim(Why.CONTAINERS, 1, holds_data=True)
    assert s.world.task(first).row is TaskRow.READY


def test_what_is_inside_of_an_argument_lives_until_the_task_is_done() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    reader, (made,) = s.draft.task(keep=True)
    s.draft.contain(reader, inside)
    s.submit()
    s.client.drop(task, objects=(inside,))
    settle(s)
    assert states(s, inside) == ["finished"]
    s.assign(reader)
    s.governors[0].finish(reader, data=b"small")
    settle(s)
    assert states(s, inside, made) == ["gone", "finished"]


@pytest.mark.parametrize("end", ["fail", "cancel"])
def test_what_is_inside_goes_with_a_task_that_never_runs(end: str) -> None:
    s = goes_on(1)
    task, inside = finished(s)
    reader, (made,) = s.draft.task(keep=True)
    s.draft.contain(reader, inside)
    s.submit()
    s.client.drop(task, objects=(inside,))
    if end == "fail":
        s.assign(reader)
        s.governors[0].fail(reader)
    else:
        s.client.cancel(s.draft.session, objects=(made,), always=True)
    settle(s)
    assert states(s, inside, made) == ["gone", "failed"]


def test_a_failed_future_inside_of_an_argument_fails_nobody() -> None:
    s = goes_on(1)
    bad, (inside,) = s.draft.task(keep=True)
    s.submit()
    s.assign(bad)
    s.governors[0].fail(bad)
    reader, _ = s.draft.task(keep=True)
    s.draft.contain(reader, inside)
    s.submit()
    assert s.world.task(reader).row is TaskRow.READY
    s.client.drop(bad, objects=(inside,))
    settle(s)
    assert states(s, inside) == ["failed"], "a reader of it is told its error"


def test_what_has_gone_before_is_left_out() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    s.client.drop(task, objects=(inside,))
    settle(s)
    reader, _ = s.draft.task()
    s.draft.contain(reader, inside)
    s.submit()
    assert s.world.task(reader).session.contents == {}


def test_only_what_is_new_can_contain_anything() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    new, _ = s.draft.task()
    for holder in (task, inside, new + 1000):
        s.draft.contain(holder, inside)
        answer = s.client.submit(s.draft)
        assert isinstance(answer, Refuse)
        assert "cannot contain anything" in str(answer.reason)


# Data.


def test_data_holds_what_is_inside_as_long_as_it_lives_itself() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    box = s.draft.constant(keep=True)
    s.draft.contain(box, inside)
    outer = s.draft.constant(keep=True)
    s.draft.contain(outer, box)
    s.submit()
    s.client.drop(task, objects=(inside, box))
    settle(s)
    assert states(s, inside, box, outer) == ["finished", "finished", "finished"]
    s.client.drop(objects=(outer,))
    settle(s)
    assert states(s, inside, box, outer) == ["gone", "gone", "gone"]
    assert inside not in s.governors[0].held


def test_a_result_holds_what_its_task_passes_on() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    passing, (result,) = s.draft.task(keep=True)
    s.draft.contain(passing, inside)
    s.submit()
    s.client.drop(task, objects=(inside,))
    s.assign(passing)
    s.governors[0].finish(passing, data=b"a future", contents=[inside])
    s.client.drop(passing)
    settle(s)
    assert states(s, inside, result) == ["finished", "finished"]
    s.client.drop(objects=(result,))
    settle(s)
    assert nodes(s) == (0, 0)


def test_an_object_does_not_claim_itself() -> None:
    s = goes_on(1)
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].finish(task, contents=[made])
    s.client.drop(task, objects=(made,))
    settle(s)
    assert nodes(s) == (0, 0)


def test_a_reference_to_what_has_gone_claims_nothing() -> None:
    s = goes_on(1)
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    before = s.world.state.ignored
    s.governors[0].finish(task, contents=[ObjectId(made + 1000)])
    assert s.world.state.ignored == before + 1
    assert states(s, made) == ["finished"]


# Lineage.


def test_what_is_lost_and_only_inside_of_something_is_made_again() -> None:
    s = goes_on(1, 1)
    task, inside = finished(s)
    box = s.draft.constant(keep=True)
    s.draft.contain(box, inside)
    s.submit()
    s.client.drop(task, objects=(inside,))
    s.governors[0].leave()
    assert s.world.task(task).row is TaskRow.READY
    s.run(task, on=1)
    assert states(s, inside) == ["finished"]


def test_a_task_that_runs_again_finds_what_is_inside_of_its_arguments() -> None:
    s = goes_on(1, 1)
    task, inside = finished(s)
    function = s.draft.constant(keep=True)
    reader, (made,) = s.draft.task(function, keep=True)
    s.draft.contain(reader, inside)
    s.submit()
    s.run(reader)
    s.client.drop(task, objects=(inside,))
    settle(s)
    assert states(s, inside) == ["removed"], "as the inputs of a task that has finished"
    s.governors[0].leave()
    rows = [s.world.task(one).row for one in (reader, task)]
    assert rows == [TaskRow.READY, TaskRow.READY], "it is made again, and nobody waits for it"
    s.run(reader, on=1)
    s.run(task, on=1)
    settle(s)
    assert states(s, inside, made) == ["removed", "finished"]


def test_a_result_that_is_made_again_may_have_something_else_inside() -> None:
    s = goes_on(1, 1)
    one, first = finished(s)
    other, (second,) = s.draft.task(keep=True)
    maker, (made,) = s.draft.task(keep=True)
    s.draft.contain(maker, first, second)
    s.submit()
    s.run(other, on=1)
    s.assign(maker)
    s.governors[0].finish(maker, contents=[first])
    s.client.drop(one, other, objects=(first, second))
    settle(s)
    assert states(s, first, second) == ["finished", "gone"]
    s.governors[0].leave()
    for task in (maker, one):
        s.run(task, on=1)
    assert s.world.object(made).session.contents == {}
    settle(s)
    assert states(s, first, made) == ["gone", "finished"]
