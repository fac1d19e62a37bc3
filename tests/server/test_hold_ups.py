"""Waiting clients are told why tasks that could run do not, and only of what people can mend."""

from __future__ import annotations

from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.base.wire.answers import HoldUp, HoldUps
from rain.base.wire.update import Update
from rain.server.core import hold_ups
from tests.server.test_handing_back import WHY, hand_back
from tests.support.scenes import Scene, scene
from tests.support.world import new_world


def told(s: Scene) -> HoldUp | None:
    """What is said of the session."""
    state = s.world.state
    return hold_ups.of_session(state, state.graph.sessions[s.draft.session], s.world.now)


def test_a_need_that_no_governor_has_is_told_with_the_time_that_is_left() -> None:
    # given
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session()
    draft.task(cpus=4)
    other = client.session()
    client.submit(draft)
    state = world.state
    sessions = state.graph.sessions
    # when
    hold_up = hold_ups.of_session(state, sessions[draft.session], world.now + 10)
    # then
    assert hold_up is not None
    assert str(hold_up) == (
        "py/ 'work' needs cpus=4, which the only governor does not have (cpus=2);"
        " given up in 20 seconds unless such a governor joins"
    )
    assert hold_ups.of_session(state, sessions[other.session], world.now) is None
    # when
    world.governor(4)
    # then
    assert hold_ups.of_session(state, sessions[draft.session], world.now) is None


def test_a_cluster_without_governors_is_told() -> None:
    s = scene()
    s.draft.task()
    s.submit()

    assert told(s) == HoldUp(
        "the cluster has no governor", "tasks wait for the first one that joins"
    )


def test_a_rest_of_the_only_governor_is_told_with_its_reason() -> None:
    # given: one task was handed back, and another one runs
    s = scene(1, 1)
    first, second = s.draft.task()[0], s.draft.task()[0]
    s.submit()
    s.assign(second, to=1)
    s.governors[1].send(s.governors[1].started(second))
    s.assign(first, to=0)
    hand_back(s.governors[0], first)

    # then: another governor would take it
    assert told(s) is None

    # when
    s.governors[1].drain(second)

    # then
    address, other = (governor.address for governor in s.governors)
    assert told(s) == HoldUp(
        f"no governor takes py/ 'work' now: {address} rests, since {WHY}; {other} drains",
        "it waits until one does",
    )


def test_tasks_that_run_on_a_governor_that_drains_are_not_held_up() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[0].drain(task)

    assert told(s) is None


def test_a_client_is_told_each_reason_once_and_none_of_other_clients() -> None:
    # given: two sessions of one client, and one of another one, each with a task that fits nowhere
    world = new_world()
    world.governor(2)
    client, other = world.client(), world.client()
    for one, cpus in ((client, 4), (client, 4), (other, 8)):
        draft = one.session()
        draft.task(cpus=cpus)
        one.submit(draft)

    # then
    ups = hold_ups.of_client(world.state, client.id, world.now)
    assert [up.why for up in ups.each] == [
        "py/ 'work' needs cpus=4, which the only governor does not have (cpus=2)"
    ]
    assert hold_ups.of_client(world.state, world.client().id, world.now) == HoldUps()


def test_where_governors_are_started_it_is_told_how_far_they_are() -> None:
    s = scene()
    s.draft.task(gpus=1)
    s.submit()
    starter = s.world.client()
    starter.promise(Resources.of({"cpus": 4, "gpus": 1}), says="job 12 is queued: Priority")

    assert told(s) == HoldUp(
        "the cluster has no governor",
        "tasks wait for governors to be started: job 12 is queued: Priority",
    )

    s.world.governor(2)

    assert told(s) == HoldUp(
        "no governor has what py/ 'work' needs yet (cpus=1, gpus=1)",
        "tasks wait for governors to be started: job 12 is queued: Priority",
    )


def test_a_governor_that_holds_tasks_back_says_why() -> None:
    s = scene(1)
    first = s.draft.task()[0]
    s.submit()
    s.assign(first, to=0)
    governor = s.governors[0]
    governor.send(Update(holds_back="its disk is full"))
    assert told(s) == HoldUp(
        f"tasks wait at {governor.address} for room on its disk", "its disk is full"
    )
    client = s.world.state.graph.sessions[s.draft.session].client
    assert hold_ups.of_client(s.world.state, client.id, s.world.now) == HoldUps()

    # Nothing there may be able to make room, which lasts until people do something.
    governor.send(Update(holds_back="its disk is full", is_full=True))
    full = told(s)
    assert full is not None
    assert str(full) == (
        f"tasks wait for room on the disk of {governor.address}, and nothing there can make any;"
        " its disk is full: let go of futures whose results you no longer need, or start the"
        " governor with a larger --disk or with --spill-to"
    )
    assert hold_ups.of_client(s.world.state, client.id, s.world.now).each == [full]

    # It may have room again, or the task may have started all the same.
    governor.send(Update())
    assert told(s) is None
    governor.send(Update(holds_back="its disk is full"))
    governor.send(governor.started(first))
    assert told(s) is None


def test_a_client_hears_once_of_a_full_disk_though_its_tasks_are_handed_back_and_come_again() -> (
    None
):
    s = scene(1)
    first = s.draft.task()[0]
    s.submit()
    governor = s.governors[0]
    client = s.world.state.graph.sessions[s.draft.session].client
    heard: list[HoldUp] = []
    for full in ("its disk is full (9 of 10)", "its disk is full (9.1 of 10)"):
        s.assign(first, to=0)
        governor.send(Update(holds_back=full, is_full=True))
        heard += hold_ups.of_client(s.world.state, client.id, s.world.now).each
        hand_back(governor, first)
        governor.send(Update(is_full=True))
        heard += hold_ups.of_client(s.world.state, client.id, s.world.now).each
        s.world.turn(after=1000)

    assert len(heard) == 4
    assert {one.why for one in heard} == {heard[0].why}  # a client tells each once


def test_a_reason_in_which_only_numbers_have_changed_is_the_same_reason() -> None:
    s = scene(1)
    first = s.draft.task()[0]
    s.submit()
    governor = s.governors[0]
    whys: list[str] = []
    for reason in ("executor 7 cannot go on", "executor 12 cannot go on", "no descriptor is left"):
        s.assign(first, to=0)
        failed = governor.failed(first, reason, RunCause.NOT_STARTED)
        governor.send(Update(failed=failed.failed))
        hold_up = told(s)
        assert hold_up is not None
        whys.append(hold_up.why)
        s.world.turn(after=1000)
    assert whys[0] == whys[1] != whys[2]


def test_a_scheduler_of_the_user_s_that_plans_nothing_is_told() -> None:
    # given
    s = scene(1)
    task = s.draft.task()[0]
    s.submit()
    state = s.world.state

    # then: those of Rain may plan it any moment
    for name in ("", "horizon", "random?seed=7"):
        state.status.name = name
        assert told(s) is None

    # when
    state.status.name = "mine.py:Mine"

    # then
    assert told(s) == HoldUp(
        "the scheduler 'mine.py:Mine' has planned py/ 'work' nowhere, while a governor that could"
        " run it has nothing to do",
        "it waits until the scheduler plans it: tasks without a plan come in news.submitted and in"
        " news.unplanned",
    )
    assert hold_ups.of_client(state, s.client.id, s.world.now).each == [told(s)]

    # when
    s.assign(task)

    # then
    assert told(s) is None


def test_a_task_that_no_idle_governor_could_run_is_not_forgotten() -> None:
    s = scene(1, 4)
    running, wide = s.draft.task()[0], s.draft.task(cpus=4)[0]
    s.submit()
    s.assign(running, to=1)
    s.world.state.status.name = "mine.py:Mine"

    assert s.world.task(wide).row is TaskRow.READY
    assert told(s) is None


def test_a_scheduler_of_the_user_s_that_has_just_failed_is_told_to_clients() -> None:
    # given
    s = scene(1)
    state, now = s.world.state, s.world.now
    client = s.client.id
    state.status.fault, state.status.complained = "it raised KeyError: 7", now

    # then
    assert hold_ups.of_client(state, client, now) == HoldUps()

    # when
    state.status.name = "mine.py:Mine"

    # then
    assert hold_ups.that_failed(state, client, now) == hold_ups.of_client(state, client, now)
    (hold_up,) = hold_ups.of_client(state, client, now).each
    assert str(hold_up) == (
        "the scheduler 'mine.py:Mine' has failed: it raised KeyError: 7; the scheduler 'rain' plans"
        " in its place, and the log of the server has the traceback"
    )
    assert hold_ups.of_client(state, client, now + 2 * hold_ups.LATELY) == HoldUps()


def test_each_kind_that_no_governor_takes_is_told_to_clients() -> None:
    s = scene(1)
    for cpus in (2, 3, 4, 5):
        s.draft.task(cpus=cpus)
    s.submit()

    found = hold_ups.of_client(s.world.state, s.client.id, s.world.now).each

    assert [f"cpus={cpus}," in str(one) for cpus, one in zip((2, 3, 4), found, strict=True)] == [
        True,
        True,
        True,
    ]
