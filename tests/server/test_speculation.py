"""A late task and its second run: the first that ends wins, however the other one ends."""

from __future__ import annotations

import pytest

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import ObjectId, TaskId, is_of_server
from rain.base.runs import RunCause, RunState
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.update import TaskNote
from rain.server.core.messages import Answered, Refuse
from tests.support.fake_client import answer_of
from tests.support.late_tasks import SETTINGS, Late, late, nothing_is_left, runs
from tests.support.remaking import come_back
from tests.support.scenes import scene


def test_the_second_run_wins_with_a_small_result() -> None:
    # given
    one = late()
    one.wait()
    wait = one.scene.client.wait(one.scene.draft.session, one.task)

    # when
    one.second.finish(one.the_shadow(), data=b"made there")

    # then
    assert one.node.state is TaskState.FINISHED
    assert runs(one) == [
        (one.first.address, RunState.WITHDRAWN, RunCause.OUTRUN),
        (one.second.address, RunState.FINISHED, None),
    ]
    assert one.scene.world.object(one.made[0]).data == b"made there"
    assert one.task not in one.first.tasks
    assert isinstance(one.scene.world.answers[wait], Answered)
    nothing_is_left(one)


def test_a_small_result_that_only_another_client_wants_is_not_delivered_to_the_owner() -> None:
    # given
    one = late(on_failure=OnFailure.CONTINUE)
    one.wait()
    other = one.scene.world.client()
    other.join(one.scene.draft.session)
    other.take(*one.made, keep=True)
    one.scene.client.unkeep(*one.made)
    wait = one.scene.client.wait(one.scene.draft.session, one.task)

    # when
    one.second.finish(one.the_shadow(), data=b"made there")

    # then
    delivered = answer_of(one.scene.world.answers[wait], WaitAnswer).delivery
    assert one.made[0] not in delivered.ids
    assert not one.node.session.undelivered
    assert other.fetch(one.made[0]) in one.scene.world.answers


def test_a_second_run_and_what_it_makes_have_numbers_of_their_own() -> None:
    one = late(outputs=2)
    one.wait()
    shadow = one.scene.world.task(one.the_shadow())
    assert [output.id for output in shadow.outputs] == [shadow.id + 1, shadow.id + 2]


def test_what_a_second_run_has_printed_and_the_cache_has_said_of_it_is_of_the_task() -> None:
    one = late()
    one.wait()
    shadow = one.the_shadow()
    update = one.second.finished(shadow, data=b"made there")
    update.task_notes += [
        TaskNote(shadow, cache="ran: no entry"),
        TaskNote(shadow, logs="printed there"),
    ]
    one.second.send(update)
    session = one.node.session
    assert session.logs[one.task] == "printed there"
    assert session.cached == {one.task: "ran: no entry"}


def test_a_task_without_outputs_that_nobody_has_leaves_when_its_second_run_wins() -> None:
    # given: the checker of each turn holds that what nobody needs leaves
    one = late(outputs=0)
    one.wait()
    one.scene.client.drop(one.task)

    # when
    one.second.finish(one.the_shadow())

    # then
    assert one.task not in one.scene.world.state.graph.tasks


def test_a_client_cannot_take_a_handle_of_what_a_second_run_makes() -> None:
    # given
    one = late(on_failure=OnFailure.CONTINUE)
    one.wait()
    (made,) = one.scene.world.task(one.the_shadow()).outputs

    # when
    answer = one.scene.client.take(made.id)

    # then
    assert isinstance(answer, Refuse)
    assert "was never submitted" in str(answer.reason)


def test_the_second_run_wins_with_a_large_result_which_is_passed_on_there() -> None:
    # given
    one = late()
    one.wait()

    # when: its results are with the second governor
    one.second.finish(one.the_shadow(), size=10**9)

    # then: that governor gives them a second name
    assert one.task not in one.first.tasks
    assert one.task in one.second.tasks
    assert not one.second.fetching()
    one.second.finish(one.task, size=10**9)
    assert one.node.state is TaskState.FINISHED
    assert [run[1:] for run in runs(one)] == [
        (RunState.WITHDRAWN, RunCause.OUTRUN),
        (RunState.FINISHED, None),
        (RunState.FINISHED, None),
    ]
    (copy,) = one.scene.world.object(one.made[0]).copies
    assert copy.governor.address == one.second.address


def test_a_large_result_of_a_second_run_that_is_lost_is_made_again() -> None:
    # given
    one = late()
    one.wait()
    one.second.finish(one.the_shadow(), size=10**9)
    one.second.finish(one.task, size=10**9)

    # when
    one.second.leave()

    # then: the shadow runs again, for its task
    again = [task for task in one.scene.world.state.graph.tasks if is_of_server(task)]
    one.scene.assign(*again)
    one.first.finish(*again, size=10**9)
    one.first.finish(one.task, size=10**9)
    assert one.node.state is TaskState.FINISHED


def test_the_first_run_wins_and_the_second_one_is_stopped() -> None:
    one = late()
    one.wait()
    one.first.finish(one.task, data=b"made here")
    assert one.node.state is TaskState.FINISHED
    assert one.shadow is None
    assert [run[1:] for run in runs(one)] == [(RunState.FINISHED, None)]
    nothing_is_left(one)


def test_a_second_run_that_fails_is_no_failure_and_the_first_one_goes_on() -> None:
    # given
    one = late()
    one.wait()

    # when
    one.second.fail(one.the_shadow())
    one.wait()

    # then: there is no other one, and nobody is blamed
    assert one.shadow is None
    assert one.node.row is TaskRow.RUNNING
    assert not one.scene.world.state.back_off.blamed
    one.first.finish(one.task, data=b"made here")
    assert one.node.state is TaskState.FINISHED


def test_a_first_run_that_fails_is_no_failure_if_the_second_one_finishes() -> None:
    one = late()
    one.wait()
    one.first.fail(one.task)
    assert one.node.row is TaskRow.PAUSED
    one.second.finish(one.the_shadow(), data=b"made there")
    assert one.node.state is TaskState.FINISHED
    nothing_is_left(one)


@pytest.mark.parametrize("first_fails_first", [True, False])
@pytest.mark.parametrize("on_failure", list(OnFailure))
def test_two_failures_are_one(first_fails_first: bool, on_failure: OnFailure) -> None:
    # given
    one = late(on_failure=on_failure)
    one.wait()
    shadow = one.the_shadow()
    wait = one.scene.client.wait(one.scene.draft.session, one.task)

    # when
    if first_fails_first:
        one.first.fail(one.task, "the first one")
        assert wait not in one.scene.world.answers
        one.second.fail(shadow, "the second one")
    else:
        one.second.fail(shadow, "the second one")
        one.first.fail(one.task, "the first one")

    # then
    answer = one.scene.world.answers[wait]
    assert isinstance(answer, Refuse)
    assert isinstance(answer.reason, SessionFailure)
    assert (answer.reason.message, answer.reason.task) == ("the first one", one.task)


def test_a_task_that_is_tried_again_keeps_its_second_run() -> None:
    # given
    one = late(tries=2)
    one.wait()
    shadow = one.the_shadow()

    # when: its next try is planned
    one.first.fail(one.task)
    assert one.node.scheduled is not None

    # then
    one.second.finish(shadow, data=b"made there")
    assert one.node.state is TaskState.FINISHED
    assert one.task not in one.second.tasks
    nothing_is_left(one)


def test_a_second_run_whose_governor_is_lost_has_a_successor_and_counts_for_nothing() -> None:
    # given
    one = late(governors=3)
    one.wait()
    shadow = one.the_shadow()
    one.second.start(shadow)

    # when
    for governor in list(one.scene.governors[1:]):
        if shadow in governor.tasks:
            governor.leave()

    # then
    assert one.node.state is TaskState.RUNNING
    (successor,) = one.scene.governors[2].tasks
    assert is_of_server(successor)
    assert successor != shadow
    assert one.scene.world.state.not_started == {}


def test_a_late_task_whose_governor_is_lost_is_finished_by_its_second_run() -> None:
    one = late()
    one.wait()
    shadow = one.the_shadow()
    one.first.leave()
    assert one.node.row is TaskRow.READY
    one.second.finish(shadow, data=b"made there")
    assert one.node.state is TaskState.FINISHED
    nothing_is_left(one)


def test_a_second_run_that_is_handed_back_goes_to_a_governor_that_works() -> None:
    one = late(governors=3)
    one.wait()
    one.second.fail(one.the_shadow(), "no memory", RunCause.NOT_STARTED)
    assert [rest.governor for rest in one.scene.world.rests] == [one.second.address]
    assert list(map(is_of_server, one.scene.governors[2].tasks)) == [True]


@pytest.mark.parametrize("recursive", [True, False])
def test_who_cancels_the_task_or_all_tasks_ends_the_second_run(recursive: bool) -> None:
    one = late(on_failure=OnFailure.CONTINUE)
    one.wait()
    session = one.scene.draft.session
    one.scene.client.cancel(session, one.task, whole=recursive, always=True)
    assert one.node.state is TaskState.CANCELLED
    assert one.shadow is None
    one.first.end(one.task)
    nothing_is_left(one)


def test_a_session_that_ends_ends_the_second_run() -> None:
    one = late()
    one.wait()
    one.scene.client.close(one.scene.draft.session)
    graph = one.scene.world.state.graph
    assert (one.shadow, graph.shadows, graph.shadowed, graph.watched) == (None, {}, {}, {})


def test_a_client_that_leaves_ends_the_second_run() -> None:
    one = late()
    one.wait()
    one.scene.client.leave()
    assert one.shadow is None


def test_a_session_that_fails_when_its_data_is_moved_away_leaves_nothing_elsewhere() -> None:
    # given: a late task has failed and waits for its second run, beside data that is only there
    one = late(governors=3)
    data, (made,) = one.scene.draft.task(keep=True)
    one.scene.submit()
    one.scene.run(data, on=1, size=10**9)
    one.wait()
    one.first.fail(one.task)
    session = one.node.session

    # when: the data is to be moved, and the second run is returned in the same turn
    one.second.drain()

    # then
    assert session.failure is not None
    assert made not in one.scene.governors[2].copies
    assert not one.scene.governors[2].told[-1].object_kinds


def handing_on(one: Late) -> tuple[TaskId, ObjectId]:
    """A task on the second governor that makes what another one hands on."""
    helper, (made,) = one.scene.draft.task(keep=True)
    one.scene.submit()
    one.scene.assign(helper, to=1)
    one.wait()
    return helper, made


def test_when_the_first_run_hands_the_rest_on_the_second_one_is_stopped() -> None:
    # given
    one = late()
    helper, made = handing_on(one)

    # when
    one.first.hand_on(one.task, made)
    assert one.shadow is None
    one.second.finish(helper, data=b"from the helper")
    one.scene.assign(one.task)
    one.first.finish(one.task, data=b"from the helper")

    # then
    assert one.node.state is TaskState.FINISHED
    nothing_is_left(one)


def test_a_second_run_that_hands_the_rest_on_wins_when_that_is_made() -> None:
    # given
    one = late()
    helper, made = handing_on(one)
    shadow = one.the_shadow()

    # when
    one.second.hand_on(shadow, made)
    one.second.finish(helper, data=b"from the helper")
    one.scene.assign(shadow, to=1)
    assert one.node.row is TaskRow.RUNNING
    one.second.finish(shadow, data=b"from the helper")

    # then
    assert one.node.state is TaskState.FINISHED
    assert one.scene.world.object(one.made[0]).data == b"from the helper"
    nothing_is_left(one)


def test_the_second_run_reads_what_the_first_one_reads_and_serves_its_readers() -> None:
    # given: tasks that read one object, and a reader of the late one that goes ahead there
    s = scene(4, 4, settings=SETTINGS)
    data = s.draft.constant(b"to be read")
    made = [s.draft.task(data, idempotent=True) for _ in range(4)]
    reader, (result,) = s.draft.task(made[3][1][0], keep=True)
    s.submit()
    ids = [task for task, _ in made]
    s.assign(*ids, reader)
    s.governors[0].start(ids[3])
    s.governors[0].finish(*ids[:3], data=b"")
    s.world.turn(after=100)
    (shadow,) = s.governors[1].tasks

    # when
    s.governors[1].finish(shadow, data=b"made there")

    # then
    assert list(s.governors[0].tasks) == [reader]
    s.governors[0].finish(reader, data=b"read")
    assert s.world.object(result).state is ObjectState.FINISHED
    assert s.world.task(reader).run is not None


def test_a_server_that_returns_in_between_goes_on_with_the_second_run() -> None:
    # given
    one = late()
    one.wait()
    shadow = one.the_shadow()

    # when
    come_back(one.scene.world)

    # then
    graph = one.scene.world.state.graph
    assert {late.id: found.id for late, found in graph.shadows.items()} == {one.task: shadow}
    one.second.finish(shadow, data=b"made there")
    assert one.node.state is TaskState.FINISHED
    nothing_is_left(one)
