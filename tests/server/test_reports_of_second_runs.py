"""What clients, the event log and the pages are told of second runs."""

from __future__ import annotations

from rain.base.ids import is_of_server, unpack
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.update import TaskNote
from rain.server.core.catching_up import note_all
from rain.server.core.collector import Happenings
from rain.server.core.logs import logs_of
from rain.server.core.messages import Answered
from rain.server.core.overview import gather_overview
from rain.server.dashboard.present import task_now
from rain.server.http.status import gather_status
from tests.support.events import listen, logged
from tests.support.fake_client import answer_of, reports_of
from tests.support.late_tasks import late


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


def test_who_waits_for_the_whole_session_does_not_wait_for_the_second_run() -> None:
    one = late()
    one.wait()
    wait = one.scene.client.wait(one.scene.draft.session, mode="session")
    one.first.finish(one.task, data=b"made here")
    assert isinstance(one.scene.world.answers[wait], Answered)


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
