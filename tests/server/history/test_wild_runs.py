"""Whatever governors do, the event log tells a story that its readers can count on."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from tests.support.events import Logged, listen, logged
from tests.support.wild import WildSession, WildWorld
from tests.support.world import new_world


def _live(seed: int) -> list[Logged]:
    """Some sessions on wild governors; how it was logged."""
    random = Random(seed)
    world = new_world()
    happenings = listen(world, with_objects=True, limit=100_000_000)
    wild = WildWorld(world)
    world.governor(cpus=2)
    world.governor(cpus=4)
    for _ in range(3):
        client = world.client()
        session = WildSession(client, client.session())
        wild.sessions.append(session)
        usable = [session.draft.constant(keep=True)]
        for _ in range(random.randrange(12)):
            inputs = [random.choice(usable) for _ in range(random.randrange(3))]
            task, made = session.draft.task(*inputs, keep=random.random() < 0.3)
            session.tasks.append(task)
            usable += made
        client.submit(session.draft)
    for _ in range(random.randrange(60)):
        wild.mischief(random)
    busy = [governor for governor in world.governors if governor.runnable()]
    if busy and random.random() < 0.5:
        failing = random.choice(busy)
        wild.post(failing, failing.failed(random.choice(failing.runnable())))
    if random.random() < 0.5:
        world.governors[0].leave()
    wild.settle()
    for session in wild.sessions:
        session.client.close(session.id)
    return logged(happenings)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_starts_come_before_ends_and_sessions_open_and_close_once(seed: int) -> None:
    rows = _live(seed)

    running: Counter[tuple[int, int]] = Counter()
    open_sessions: set[int] = set()
    seen: set[int] = set()
    for row in rows:
        match row.type:
            case "SessionNew":
                assert row.session is not None
                assert row.session not in seen
                seen.add(row.session)
                open_sessions.add(row.session)
            case "SessionClosed":
                assert row.session is not None
                open_sessions.remove(row.session)
            case "TaskStarted":
                running[*row.event["task"]] += 1
                assert row.session in open_sessions
            case "TaskFinished":
                # It may have been started more often: where its governor was lost.
                assert running[*row.event["task"]] > 0
                assert row.event["info"]["governor"].startswith("127.0.0.1:")
                assert row.session in open_sessions
            case _:
                assert row.session is None or row.session in open_sessions
    assert seen == {1, 2, 3}
    assert not open_sessions


@given(st.integers(0, 2**32))
@settings(max_examples=examples(20))
def test_every_task_of_a_session_that_did_not_fail_is_logged_as_finished(seed: int) -> None:
    rows = _live(seed)

    failed = {row.session for row in rows if row.event.get("reason") == "Error"}
    submitted = {
        (*task["id"],)
        for row in rows
        if row.type == "ClientSubmit" and row.session not in failed
        for task in row.event["tasks"]
    }
    finished = {(*row.event["task"],) for row in rows if row.type == "TaskFinished"}
    assert submitted <= finished
