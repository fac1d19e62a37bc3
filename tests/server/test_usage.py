"""How much users have used, and which sessions wait."""

from __future__ import annotations

import pytest
from attrs import evolve

from rain.base.ids import ObjectId, TaskId
from rain.base.usage import DAY
from rain.base.users import UserRule
from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.server.core import usage_report
from rain.server.core.messages import GovernorUpdated, UsersRead
from rain.server.dashboard import present
from rain.start import usage as told
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene


def run(s: Scene, client: FakeClient, seconds: list[float], size: int = 10) -> None:
    """Tasks of a new session take so long, one after the other."""
    draft = client.session("work")
    for taken in seconds:
        task, _ = draft.task(keep=True)
        client.submit(draft)
        s.assign(task)
        update = s.governors[0].finished(task, size=size)
        update.finished.durations = [taken]
        s.world.turn(GovernorUpdated(s.governors[0].id, update))
    s.world.reactor.settle()


def seen(s: Scene, client: FakeClient) -> UsageReport:
    return usage_report.report(s.world.state, client.id, s.world.state.now)


def test_finished_tasks_are_counted_for_their_user_and_session() -> None:
    s = scene(1)
    ada, bob = s.world.client("ada"), s.world.client("bob")
    run(s, ada, [2.0, 3.0])
    run(s, bob, [0.5])
    day = int(s.world.state.now // DAY)
    assert [evolve(one, byte_seconds=0.0) for one in seen(s, s.client).days] == [
        UserUsage("ada", day, 2, 5.0, 20),
        UserUsage("bob", day, 1, 0.5, 10),
    ]
    rows = {one.user: one for one in seen(s, s.client).sessions if one.user}
    assert (rows["ada"].name, rows["ada"].tasks, rows["ada"].cpu_seconds) == ("work", 2, 5.0)


def test_a_user_sees_the_own_lines_and_an_admin_all() -> None:
    s = scene(1)
    s.world.turn(UsersRead((UserRule("root", admin=True),)))
    ada, bob, root = map(s.world.client, ("ada", "bob", "root"))
    run(s, ada, [2.0])
    run(s, bob, [0.5])
    assert [one.user for one in seen(s, ada).days] == ["ada"]
    assert {one.user for one in seen(s, ada).sessions} == {"ada"}
    assert [one.user for one in seen(s, root).days] == ["ada", "bob"]


def test_what_is_counted_outlives_the_session() -> None:
    s = scene(1)
    ada = s.world.client("ada")
    run(s, ada, [2.0])
    ada.leave()
    s.world.turn()
    (day,) = seen(s, s.client).days
    assert (day.user, day.tasks, day.cpu_seconds) == ("ada", 1, 2.0)


def test_the_queue_says_what_waits_and_why() -> None:
    s = scene(1)
    ada = s.world.client("ada")
    draft = ada.session("work")
    tasks = [draft.task(keep=True)[0] for _ in range(3)]
    ada.submit(draft)
    (row,) = told.waiting(seen(s, ada).sessions)
    assert (row.waiting, row.running, row.seconds_left) == (3, 0, -1.0)
    assert row.why == "all cpus are taken"
    s.assign(tasks[0])
    s.governors[0].start(tasks[0])
    (row,) = told.waiting(seen(s, ada).sessions)
    assert (row.waiting, row.running, row.why) == (2, 1, "")
    update = s.governors[0].finished(tasks[0], size=10)
    update.finished.durations = [4.0]
    s.world.turn(GovernorUpdated(s.governors[0].id, update))
    s.world.reactor.settle()
    (row,) = told.waiting(seen(s, ada).sessions)
    assert (row.waiting, row.seconds_left) == (2, 8.0)


def test_the_queue_says_what_no_governor_has() -> None:
    s = scene(0)
    ada = s.world.client("ada")
    draft = ada.session("work")
    draft.task()
    ada.submit(draft)
    (row,) = told.waiting(seen(s, ada).sessions)
    assert "needs cpus=1, which the only governor does not have" in row.why


def test_days_are_summed_from_the_one_that_is_named() -> None:
    days = [
        UserUsage("ada", 10, 1, 1.0, 5),
        UserUsage("ada", 11, 2, 2.0, 5),
        UserUsage("", 11, 1, 9.0, 5),
    ]
    assert told.by_user(days) == [UserUsage("", 11, 1, 9.0, 5), UserUsage("ada", 10, 3, 3.0, 10)]
    assert told.by_user(told.select(days, since=11))[1] == UserUsage("ada", 11, 2, 2.0, 5)
    assert told.select(days, "ada") == days[:2]
    assert told.select(days, "(owner)") == days[2:]
    assert told.select(days, since=10, until=10) == days[:1]
    assert told.parse_day("1970-01-11") == 10


def test_usage_is_spelled_for_people_and_programs() -> None:
    rows = [UserUsage("ada", 10, 3, 3.25, 10, 5400e9), UserUsage("", 11, 1, 1.0, 5)]
    assert told.usage_as_text(rows).splitlines() == [
        "USER     SINCE       TASKS  CPU-SECONDS  BYTES MADE  GB-HOURS STORED",
        "ada      1970-01-11      3          3.2          10            1.500",
        "(owner)  1970-01-12      1          1.0           5            0.000",
    ]
    assert told.usage_as_csv(rows).splitlines()[:2] == [
        "user,since,tasks,cpu_seconds,bytes,byte_seconds",
        "ada,1970-01-11,3,3.25,10,5400000000000.0",
    ]


def test_sessions_are_spelled_for_people_and_programs() -> None:
    rows = [SessionUsage("ada", 4, "sweep", 0, 0, 3, 1.5, 9, 0.0, "", 7, 36e9)]
    assert told.sessions_as_text(rows).splitlines()[1].split() == [
        *("ada", "4", "sweep", "3", "1.5", "9", "7", "0.010")
    ]
    assert told.sessions_as_csv(rows).splitlines()[1] == "ada,4,sweep,3,1.5,9,7,36000000000.0"


def store(s: Scene, client: FakeClient, size: int) -> ObjectId:
    """A task makes an object that its client keeps."""
    draft = client.session("data")
    task, (made,) = draft.task(keep=True)
    client.submit(draft)
    s.run(task, size=size)
    return made


def test_what_is_stored_counts_as_long_as_it_is_there_however_many_copies_there_are() -> None:
    s = scene(1, 1)
    ada = s.world.client("ada")
    made = store(s, ada, 1000)
    s.copied(made, to=1)
    earlier = seen(s, s.client).days[0].byte_seconds
    s.world.turn(after=10.0)
    s.world.turn(after=10.0)
    (day,) = seen(s, s.client).days
    assert day.byte_seconds == earlier + 20_000
    (row,) = [one for one in seen(s, ada).sessions if one.name == "data"]
    assert (row.stored, row.byte_seconds) == (1000, day.byte_seconds)
    ada.unkeep(made)
    s.world.turn(after=1.0)
    s.world.turn(after=1.0)
    before = seen(s, ada).days[0].byte_seconds
    s.world.turn(after=1000.0)
    assert seen(s, ada).days[0].byte_seconds == before
    assert [one.stored for one in seen(s, ada).sessions if one.name == "data"] == [0]


def test_each_day_has_its_part_of_what_is_stored() -> None:
    s = scene(1)
    ada = s.world.client("ada")
    store(s, ada, 100)
    first = int(s.world.state.now // DAY)
    s.world.turn(after=2 * DAY)
    days = {one.day: one.byte_seconds for one in seen(s, ada).days}
    assert list(days) == [first, first + 1, first + 2]
    assert days[first + 1] == 100 * DAY
    assert sum(days.values()) == pytest.approx(200 * DAY, abs=1000)


def test_the_queue_says_whose_turn_it_is() -> None:
    s = scene(4)
    s.world.turn(UsersRead((UserRule("bob", weight=3.0), UserRule("root", admin=True))))
    tasks: dict[str, list[TaskId]] = {}
    for name in ("ada", "bob"):
        client = s.world.client(name)
        draft = client.session()
        tasks[name] = [draft.task(keep=True)[0] for _ in range(4)]
        client.submit(draft)
    root = s.world.client("root")
    queue = told.waiting(seen(s, root).sessions)
    assert {row.why for row in queue} == {"all cpus are taken"}  # nothing runs yet
    begun = [*tasks["ada"][:2], *tasks["bob"][:2]]
    for task in begun:
        s.assign(task)
    s.governors[0].start(*begun)
    assert {row.user: row.why for row in told.waiting(seen(s, root).sessions)} == {
        "ada": "all cpus are taken, 2 of 4 by tasks of this user, whose share is 1 (weight 1 of 4):"
        " others go first",
        "bob": "all cpus are taken, 2 of 4 by tasks of this user, whose share is 3 (weight 3 of 4):"
        " this user goes next",
    }
    waits = s.world.task(tasks["bob"][3])
    assert present.why(s.world.state, waits) == (
        "The scheduler has not chosen a governor yet. All cpus are taken, 2 of 4 by tasks of this"
        " user, whose share is 3 (weight 3 of 4): this user goes next."
    )


def test_a_user_whose_tasks_all_run_is_not_next() -> None:
    s = scene(4)
    s.world.turn(UsersRead((UserRule("root", admin=True),)))
    begun: list[TaskId] = []
    for name, runs, waits in (("ada", 1, 0), ("bob", 3, 1)):
        client = s.world.client(name)
        draft = client.session()
        begun += [draft.task(keep=True)[0] for _ in range(runs + waits)][:runs]
        client.submit(draft)
    s.assign(*begun)
    s.governors[0].start(*begun)
    queue = told.waiting(seen(s, s.world.client("root")).sessions)
    (why,) = [row.why for row in queue if row.user == "bob"]
    assert "this user goes next" in why
