"""A late task gets a second run elsewhere, and the first run that ends wins."""

from __future__ import annotations

from math import inf

import pytest
from attrs import define

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import FIRST_OF_SERVER, LAST_SHARED, ObjectId, TaskId, is_of_server, unpack
from rain.base.runs import RunCause, RunState
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.update import TaskNote
from rain.graph import Task
from rain.graph.lateness import Rule
from rain.scheduler.throttle import Throttle
from rain.server.catching_up import note_all
from rain.server.collector import Happenings
from rain.server.dashboard.present import task_now
from rain.server.http.status import gather_status
from rain.server.logs import logs_of
from rain.server.messages import Answered, Refuse
from rain.server.overview import gather_overview
from rain.server.speculation import LOOK_AGAIN
from rain.server.state import ReactorSettings
from tests.support.events import listen, logged
from tests.support.fake_client import answer_of, reports_of
from tests.support.fake_governor import FakeGovernor
from tests.support.remaking import come_back
from tests.support.scenes import SELDOM, Scene, scene

SETTINGS = ReactorSettings(
    debug=True, governor_silence=1e9, much_wait=0.0, little_wait=0.0, lateness=Rule(least=100.0)
)


@define(eq=False)
class Late:
    """Four tasks, of which three have finished on the first governor and one runs there."""

    scene: Scene
    task: TaskId
    made: list[ObjectId]

    @property
    def node(self) -> Task:
        return self.scene.world.task(self.task)

    @property
    def first(self) -> FakeGovernor:
        return self.scene.governors[0]

    @property
    def second(self) -> FakeGovernor:
        return self.scene.governors[1]

    @property
    def shadow(self) -> TaskId | None:
        """What the second governor runs for it."""
        found = [task for task in self.second.tasks if is_of_server(task)]
        assert len(found) < 2
        return found[0] if found else None

    def the_shadow(self) -> TaskId:
        shadow = self.shadow
        assert shadow is not None
        return shadow

    def wait(self, seconds: float = 100.0) -> None:
        self.scene.world.turn(after=seconds)


def late(
    *,
    idempotent: bool = True,
    on_failure: OnFailure = OnFailure.STOP,
    governors: int = 2,
    tries: int = 1,
    outputs: int = 1,
) -> Late:
    """The scene before the task is late."""
    s = scene(*[4] * governors, settings=SETTINGS, on_failure=on_failure)
    tasks = [
        s.draft.task(keep=True, idempotent=idempotent, tries=tries, outputs=outputs)
        for _ in range(4)
    ]
    s.submit()
    ids = [task for task, _ in tasks]
    s.assign(*ids)
    s.governors[0].start(ids[3])
    s.governors[0].finish(*ids[:3], data=b"data")
    return Late(s, *tasks[3])


def test_a_late_task_gets_a_second_run_on_another_governor() -> None:
    one = late()
    assert one.shadow is None
    one.wait()
    assert one.shadow is not None
    assert one.task in one.first.tasks
    assert one.scene.world.state.graph.shadows


def test_a_task_that_does_not_say_so_never_runs_twice() -> None:
    one = late(idempotent=False)
    one.wait(1000)
    assert one.shadow is None
    assert not one.scene.world.state.graph.watched


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


def test_who_waits_for_the_whole_session_does_not_wait_for_the_second_run() -> None:
    one = late()
    one.wait()
    wait = one.scene.client.wait(one.scene.draft.session, mode="session")
    one.first.finish(one.task, data=b"made here")
    assert isinstance(one.scene.world.answers[wait], Answered)


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
    assert not one.scene.world.state.blamed
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


def test_a_governor_that_drains_gets_no_second_run_and_gives_back_what_it_has_not_started() -> None:
    one = late()
    one.wait()
    one.second.drain()
    assert one.scene.world.released == [one.second]
    assert one.node.state is TaskState.RUNNING
    assert not one.scene.world.state.graph.shadows


def test_without_idle_cpus_elsewhere_there_is_no_second_run_until_there_are() -> None:
    # given: the second governor has as much to do as it can
    one = late()
    busy = [one.scene.draft.task(keep=True)[0] for _ in range(4)]
    one.scene.submit()
    one.scene.assign(*busy, to=1)
    one.wait()
    assert one.shadow is None

    # when
    one.second.finish(busy[0], data=b"")
    one.wait(LOOK_AGAIN)

    # then
    assert one.shadow is not None


def test_the_server_wakes_when_a_task_becomes_late_and_looks_at_nothing_before() -> None:
    one = late()
    reactor = one.scene.world.reactor
    reactor.state.throttle = Throttle(SELDOM.thresholds)  # else the scheduler is due before
    one.scene.world.turn()
    assert reactor.next_time() == one.node.started + 100.0


def test_a_lone_governor_is_not_looked_at_again_and_again() -> None:
    # given
    one = late(governors=1)
    one.wait()
    assert one.scene.world.state.graph.late_due == inf

    # when
    another = one.scene.world.governor(4)

    # then
    assert list(map(is_of_server, another.tasks)) == [True]


def test_a_session_without_numbers_for_second_runs_has_none() -> None:
    one = late()
    one.node.session.numbers_of_server = LAST_SHARED - FIRST_OF_SERVER - 1  # it needs two
    one.wait()
    assert one.shadow is None
    assert one.node.row is TaskRow.RUNNING


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


def test_too_few_that_have_finished_tell_nothing() -> None:
    s = scene(4, 4, settings=SETTINGS)
    tasks = [s.draft.task(keep=True, idempotent=True)[0] for _ in range(4)]
    s.submit()
    s.assign(*tasks)
    s.governors[0].start(*tasks[2:])
    s.governors[0].finish(*tasks[:2], data=b"")
    s.world.turn(after=10_000)
    assert not s.governors[1].tasks


def test_a_task_that_waits_for_others_is_not_late() -> None:
    one = late()
    one.first.send(one.first.waiting(one.task))
    one.wait()
    assert one.shadow is None
    one.first.send(one.first.resumed(one.task))
    one.wait()
    assert one.shadow is not None


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


def test_the_second_run_is_told_of_in_the_report_of_the_task_and_nowhere_else() -> None:
    # given
    one = late()
    one.wait()
    one.second.start(one.the_shadow())
    state, session = one.scene.world.state, one.scene.draft.session

    # when
    tasks, _ = reports_of(one.scene.client.states(one.task))
    overview = gather_overview(state, session, "")
    (status,) = gather_status(state, one.scene.world.now)["sessions"]

    # then
    assert tasks[0].second_run is not None
    assert tasks[0].second_run.governor == one.second.address
    assert len(tasks[0].runs) == 1
    assert (overview.tasks, overview.running, overview.finished) == (4, 1, 3)
    assert (status["tasks"], status["unfinished"], status["second_runs"]) == (4, 1, 1)


def test_a_client_that_follows_the_session_hears_only_of_its_own_tasks() -> None:
    one = late()
    session = one.scene.draft.session
    client = one.scene.client
    client.wait(session, mode="glance")
    one.wait()
    one.second.finish(one.the_shadow(), data=b"made there")
    answer = one.scene.world.answers[client.wait(session, mode="glance")]
    heard = answer_of(answer, WaitAnswer).tasks
    assert one.task in heard
    assert not any(map(is_of_server, heard))


def test_the_event_log_tells_of_second_runs_and_of_no_task_that_nobody_has_submitted() -> None:
    # given
    one = late()
    happenings = listen(one.scene.world)
    one.wait()
    shadow = one.the_shadow()

    # when
    one.second.start(shadow)
    one.second.finish(shadow, data=b"made there")

    # then
    told = [row.event for row in logged(happenings)]
    assert [(event["type"], event.get("state")) for event in told] == [
        ("TaskSecondRun", "begun"),
        ("TaskSecondRun", "finished"),
        ("TaskFinished", None),
    ]
    assert all(event["task"] == [*unpack(one.task)] for event in told)
    assert told[2]["info"]["governor"] == one.second.address


def test_an_event_log_that_begins_later_does_not_know_of_the_shadow() -> None:
    one = late()
    one.wait()
    happenings = Happenings()
    note_all(one.scene.world.state, happenings, one.scene.world.now)
    (submission,) = [found for found in logged(happenings) if found.event["type"] == "ClientSubmit"]
    assert len(submission.event["tasks"]) == 4


def test_the_page_of_the_task_says_where_its_second_run_is() -> None:
    one = late()
    one.wait(100)
    one.second.start(one.the_shadow())
    page = task_now(one.scene.world.state, *unpack(one.task))
    assert page is not None
    assert f"it has a second run on {one.second.address} for 1.0 seconds." in page["why"]
    assert page["second_run"]["governor"] == one.second.address
    one.first.fail(one.task)
    page = task_now(one.scene.world.state, *unpack(one.task))
    assert page is not None
    assert page["why"].startswith("Its run 1 has failed for good. It is late: it has a second run")


def test_what_a_second_run_has_printed_is_of_the_task() -> None:
    # given
    one = late()
    one.wait()
    shadow = one.the_shadow()

    # when
    update = one.second.finished(shadow, data=b"made there")
    update.task_notes = [TaskNote(shadow, user='{"seen": 1}', logs="hello\n")]
    one.second.send(update)

    # then
    assert one.node.user == '{"seen": 1}'
    assert logs_of(one.node) == "hello\n"
    assert list(one.node.session.logs) == [one.task]


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


def runs(one: Late) -> list[tuple[str, RunState, RunCause | None]]:
    return [(run.governor, run.state, run.cause) for run in one.node.runs]


def nothing_is_left(one: Late) -> None:
    """The shadow has gone, on all sides."""
    one.wait()
    graph = one.scene.world.state.graph
    assert not graph.shadows
    assert not any(map(is_of_server, graph.tasks))
    assert not any(map(is_of_server, graph.objects))
    for governor in one.scene.governors:
        assert not any(map(is_of_server, [*governor.tasks, *governor.held]))
