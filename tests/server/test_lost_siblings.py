"""Tasks with several outputs of which some are lost: what becomes of the siblings."""

from __future__ import annotations

from rain.base.copies import CopyRow
from rain.base.ids import GovernorId
from rain.base.states import ObjectState
from rain.base.wire.orders import Orders
from rain.graph.copy import row_of
from rain.server.core.messages import OrderGovernor
from tests.support.scenes import orders_in, scene


def test_a_sibling_that_was_removed_comes_along_and_goes_again() -> None:
    # given: a task with two outputs of which one is kept
    s = scene(1, 1)
    task, (a, b) = s.draft.task(outputs=2)
    s.draft.submission.kept.append(a)
    s.submit()
    s.run(task, on=0)
    assert s.world.object(b).state is ObjectState.REMOVED

    # when
    s.governors[0].leave()
    assert s.world.object(b).state is ObjectState.UNFINISHED
    effects = s.run(task, on=1)

    # then
    assert s.world.object(a).state is ObjectState.FINISHED
    assert s.world.object(b).state is ObjectState.REMOVED
    assert effects == [OrderGovernor(GovernorId(2), Orders(drops=[b]))]


def test_a_sibling_that_is_still_there_stays_and_gains_a_copy() -> None:
    # given: two kept outputs; one has a second copy
    s = scene(1, 1)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=0)
    s.copied(b, to=1)

    # when: the first governor leaves, and a third one makes it again
    s.governors[0].leave()
    s.governors.append(s.world.governor(1))
    assert s.world.object(b).state is ObjectState.FINISHED
    s.run(task, on=2)

    # then
    assert s.world.object(a).located == (s.node(2),)
    assert s.world.object(b).located == (s.node(1), s.node(2))


def test_a_sibling_that_is_lost_while_its_producer_runs_again_is_made_with_it() -> None:
    # given: two kept outputs; the second one has another copy, the first one is being made again
    s = scene(1, 1, 1)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=0)
    s.copied(b, to=1)
    s.governors[0].leave()
    s.assign(task, to=2)

    # when: the last copy of the second one is lost, too
    s.governors[1].leave()

    # then: it is expected from the very task that runs
    assert s.world.object(b).state is ObjectState.UNFINISHED
    assert row_of(s.world.object(b), s.node(2)) is CopyRow.MAKING
    s.governors[2].finish(task)
    assert s.world.object(a).state is ObjectState.FINISHED
    assert s.world.object(b).state is ObjectState.FINISHED


def test_a_sibling_that_is_unkept_while_its_producer_runs_again_goes_when_it_is_made() -> None:
    # given
    s = scene(1, 1, 1)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=0)
    s.copied(b, to=1)
    s.governors[0].leave()
    s.assign(task, to=2)

    # when
    s.client.unkeep(b)

    # then: its copy is dropped now, and the new one when it is made
    assert orders_in(s.world.effects[-1]) == {GovernorId(2): Orders(drops=[b])}
    assert s.world.object(b).state is ObjectState.UNFINISHED
    effects = s.governors[2].finish(task)
    assert effects == [OrderGovernor(GovernorId(3), Orders(drops=[b]))]
    assert s.world.object(b).state is ObjectState.REMOVED
    assert s.world.object(a).state is ObjectState.FINISHED
