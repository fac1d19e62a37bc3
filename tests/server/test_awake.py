"""When the server expects to hear something at once."""

from __future__ import annotations

from rain.server.awake import ONE_BY_ONE, Expectation
from tests.support.scenes import Scene, scene
from tests.support.submissions import timed

SOON = 0.001


def with_tasks(count: int, takes: float) -> Scene:
    """So many tasks under way that are known to take so long."""
    s = scene(2)
    tasks = [timed(s.draft, takes)[0] for _ in range(count)]
    s.submit()
    s.assign(*tasks)
    return s


def expected(s: Scene, seconds: float = SOON) -> bool:
    """After some turns in which one task came after the other."""
    expectation = Expectation(seconds)
    quiet = scene(1).world.state
    for _ in range(ONE_BY_ONE):
        expectation.after_turn(quiet)
    return expectation.after_turn(s.world.state)


def test_it_does_when_nothing_is_under_way() -> None:
    assert expected(with_tasks(0, takes=60.0))


def test_it_does_when_one_short_task_is_under_way() -> None:
    assert expected(with_tasks(1, takes=0.0002))


def test_it_does_not_when_the_task_is_long() -> None:
    assert not expected(with_tasks(1, takes=0.2))


def test_it_does_not_when_two_are_under_way() -> None:
    assert not expected(with_tasks(2, takes=0.0002))


def test_it_does_not_when_two_wait() -> None:
    s = with_tasks(1, takes=0.0002)
    for _ in range(2):
        s.client.wait(s.draft.session, mode="session")
    assert not expected(s)


def test_it_does_not_when_it_was_told_never_to() -> None:
    assert not expected(with_tasks(1, takes=0.0002), seconds=0.0)


def test_it_does_only_after_two_tasks_one_by_one() -> None:
    expectation, one = Expectation(SOON), with_tasks(1, takes=0.0002).world.state
    answers = [expectation.after_turn(one) for _ in range(ONE_BY_ONE + 1)]
    assert answers == [False] * ONE_BY_ONE + [True]


def test_many_tasks_together_make_it_begin_anew() -> None:
    expectation, one = Expectation(SOON), with_tasks(1, takes=0.0002).world.state
    for _ in range(ONE_BY_ONE):
        expectation.after_turn(one)
    expectation.after_turn(with_tasks(2, takes=0.0002).world.state)
    assert not expectation.after_turn(one)
