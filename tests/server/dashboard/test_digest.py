"""A digest says of a session what its log says, and never grows beyond its limits."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import FIRST_SHARED, SHARED_RANGE, unpack
from rain.server.dashboard import digest as digest_module
from rain.server.dashboard import progress, reading
from rain.server.dashboard.digest import Digest, LoggedState
from rain.server.dashboard.reading import UnreadableLogError, catch_up
from rain.server.dashboard.rows import task_rows
from rain.server.dashboard.shape import shape
from rain.server.dashboard.timeline import timeline
from tests.server.dashboard.stories import by_hand, ran, story


def number(task: int) -> int:
    return unpack(task).id


def test_it_knows_where_each_task_stands_and_how_they_hang_together(tmp_path: Path) -> None:
    # Given a finished task, a running one that reads its output, and one that waits for that
    tale = story(tmp_path)
    draft = tale.client.session("three")
    first, (made,) = draft.task()
    second, (further,) = draft.task(made)
    third, _ = draft.task(further)
    tale.client.submit(draft)
    tale.governors[0].finish(first)
    tale.governors[0].start(second)

    digest = tale.digest(draft.session)

    marks = [digest.columns.mark[number(task)] for task in (first, second, third)]
    assert marks == [LoggedState.FINISHED, LoggedState.RUNNING, LoggedState.WAITING]
    assert (digest.name, digest.client, digest.tasks, digest.objects) == ("three", "1", 3, 3)
    assert digest.governors.texts == [tale.governors[0].address]
    assert digest.arrows is not None
    assert (number(first), number(made)) in digest.arrows
    assert (number(made), number(second)) in digest.arrows
    assert digest.links == {(1, 1): 2}
    assert digest.closed == 0.0


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    tale = story(tmp_path)
    draft = tale.client.session()
    task, _ = draft.task()
    tale.client.submit(draft)
    digest = tale.digest(draft.session)
    assert digest.columns.mark[number(task)] == LoggedState.WAITING
    read = digest.last

    tale.governors[0].finish(task)
    tale.client.close(draft.session)
    catch_up(tale.write(), digest)

    assert digest.columns.mark[number(task)] == LoggedState.FINISHED
    assert digest.reason == "ClientClose"
    assert digest.last > read
    assert digest.tasks == 1


def test_one_request_reads_only_so_much_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tale = story(tmp_path, cpus=100)
    draft = tale.client.session()
    tasks = [draft.task()[0] for _ in range(20)]
    tale.client.submit(draft)
    tale.governors[0].finish(*tasks)
    path = tale.write()
    monkeypatch.setattr(reading, "PAGE_ROWS", 4)
    monkeypatch.setattr(reading, "MOST_PAGES", 3)
    digest = Digest(draft.session)

    read = [catch_up(path, digest)]
    while read[-1] < 1.0:
        read.append(catch_up(path, digest))

    assert read == sorted(read)
    assert len(read) > 3
    assert [digest.columns.mark[number(task)] for task in tasks] == [LoggedState.FINISHED] * 20


def test_what_a_lost_governor_ran_waits_again_and_starts_once_more(tmp_path: Path) -> None:
    tale = story(tmp_path)
    draft = tale.client.session()
    task, _ = draft.task()
    tale.client.submit(draft)
    tale.governors[0].start(task)
    tale.governors[0].leave()

    digest = tale.digest(draft.session)
    assert digest.columns.mark[number(task)] == LoggedState.WAITING

    again = tale.world.governor(cpus=4)
    again.finish(task)
    catch_up(tale.write(), digest)
    assert digest.columns.mark[number(task)] == LoggedState.FINISHED
    assert digest.columns.runs[number(task)] == 2
    assert digest.governors.texts[digest.columns.governor[number(task)]] == again.address


def test_a_failure_is_told_with_its_task(tmp_path: Path) -> None:
    tale = story(tmp_path)
    draft = tale.client.session()
    task, _ = draft.task()
    tale.client.submit(draft)
    tale.governors[0].fail(task, "it broke")

    digest = tale.digest(draft.session)

    assert digest.columns.mark[number(task)] == LoggedState.FAILED
    assert (digest.failed_task, digest.error) == (number(task), "it broke")
    assert (digest.reason, digest.message) == ("Error", "it broke")


def test_a_try_that_failed_is_followed_by_another_start(tmp_path: Path) -> None:
    digest = by_hand("a")
    start = [10, "1970-01-01T00:01:40.000+00:00", None, "one:1", None]
    digest.happened([[2, "TaskStarted", 100.0, start]])
    digest.happened([[3, "TaskRunFailed", 101.0, [10, None, None, "one:1", "it broke"]]])
    assert digest.columns.mark[10] == LoggedState.WAITING
    assert not digest.running

    digest.happened([[4, "TaskStarted", 102.0, start]])

    assert digest.columns.mark[10] == LoggedState.RUNNING
    assert digest.columns.runs[10] == 2


def test_what_depends_on_a_failed_task_of_a_session_that_goes_on_is_skipped(tmp_path: Path) -> None:
    tale = story(tmp_path)
    draft = tale.client.session(on_failure=OnFailure.CONTINUE)
    failing, (made,) = draft.task()
    skipped, _ = draft.task(made)
    tale.client.submit(draft)
    tale.governors[0].fail(failing, "it broke")

    digest = tale.digest(draft.session)

    marks = [digest.columns.mark[number(task)] for task in (failing, skipped)]
    assert marks == [LoggedState.FAILED, LoggedState.SKIPPED]
    assert progress.over_time(digest, tale.world.now)["unfinished"][-1] == 0
    assert len(timeline(digest, tale.world.now, None, None)["governors"][0]["bars"]) == 1
    states = {node["id"]: node["state"] for node in shape(digest)["nodes"]}
    assert states[unpack(made).id] == "waiting"
    told = reading.task(tale.path, draft.session, number(skipped))
    assert told is not None
    assert [entry["event"] for entry in told["story"]] == ["TaskSkipped"]


def test_cancelled_tasks_are_counted_as_cancelled(tmp_path: Path) -> None:
    # given: one that runs, one that reads what it makes, and one apart
    tale = story(tmp_path)
    draft = tale.client.session(on_failure=OnFailure.CONTINUE)
    running, (made,) = draft.task()
    reader, _ = draft.task(made)
    draft.task()
    tale.client.submit(draft)
    tale.governors[0].start(running)

    # when
    tale.client.cancel(draft.session, running, always=True)

    # then
    digest = tale.digest(draft.session)
    marks = [digest.columns.mark[number(task)] for task in (running, reader)]
    assert marks == [LoggedState.CANCELLED, LoggedState.CANCELLED]
    assert progress.counts(digest)["cancelled"] == 2
    assert progress.counts(digest)["skipped"] == 0
    assert progress.groups(digest)[0]["total"] == 3
    assert progress.over_time(digest, tale.world.now)["running"][-1] == 0
    assert task_rows(digest, state="cancelled")["total"] == 2
    told = reading.task(tale.path, draft.session, number(reader))
    assert told is not None
    assert [entry["event"] for entry in told["story"]] == ["TaskCancelled"]


def test_other_sessions_are_not_in_it(tmp_path: Path) -> None:
    tale = story(tmp_path)
    one, other = tale.client.session("one"), tale.client.session("other")
    for draft in (one, other):
        draft.task()
        tale.client.submit(draft)

    assert [tale.digest(draft.session).tasks for draft in (one, other)] == [1, 1]
    assert tale.digest(99).created == 0.0


def test_numbers_beyond_the_limit_are_counted_and_take_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(digest_module, "MOST_PLACES", digest_module.PAGE)
    digest = by_hand("small")

    digest.learn([[4_000_000_000, "large", [{"id": [1, 4_000_000_001]}], [[1, 4_000_000_002]]]])
    ran(digest, 4_000_000_000, 100.0, 101.0)

    assert digest.beyond == 1
    assert len(digest.columns.mark) <= 2 * digest_module.PAGE


def test_tasks_of_clients_that_have_joined_a_session_are_in_it_with_their_numbers() -> None:
    # given: a task of the session's own client, and one of a client that has joined
    own, joined = 10, FIRST_SHARED + 3 * SHARED_RANGE + 7
    digest = by_hand("small")
    digest.learn([[joined, "large", [{"id": [1, own + 1]}], [[1, joined + 1]]]])

    # when
    ran(digest, joined, 100.0, 101.0)

    # then
    assert digest.beyond == 0
    rows = task_rows(digest)["tasks"]
    assert [(row["task"], row["state"]) for row in rows] == [
        (own, "waiting"),
        (joined, "finished"),
    ]
    bars = [bar for one in timeline(digest, 200.0, None, None)["governors"] for bar in one["bars"]]
    assert [bar[3] for bar in bars] == [joined]
    assert [joined, joined + 1, 1] in shape(digest)["links"]


def test_names_beyond_the_limit_are_one() -> None:
    names = [f"task {place}" for place in range(digest_module.MOST_GROUPS + 50)]

    digest = by_hand(*names)

    assert len(digest.groups.texts) == digest_module.MOST_GROUPS
    assert digest.groups.texts[-1] == "(all others)"
    last = digest.columns.group[10 + len(names) - 1]
    assert digest.groups.texts[last] == "(all others)"


def test_single_arrows_are_forgotten_when_there_are_many_tasks() -> None:
    digest = by_hand("few")
    assert digest.arrows == []

    digest.submitted(101.0, digest_module.SMALL, 0)

    assert digest.arrows is None


def test_a_log_that_is_not_ours_is_named_and_no_error_of_the_server(tmp_path: Path) -> None:
    tale = story(tmp_path)
    draft = tale.client.session()
    tale.client.submit(draft)
    with closing(sqlite3.connect(tale.write())) as database:
        database.execute("UPDATE events SET event = '{}' WHERE event_type = 'SessionNew'")
        database.commit()

    with pytest.raises(UnreadableLogError, match=r"events\.db is not understood after event"):
        catch_up(tale.path, Digest(draft.session))
