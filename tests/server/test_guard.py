"""The guard interrupts a scheduler that takes too long, wherever it is, and nothing else."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from rain.base.errors import StartError
from rain.graph import Governor, Graph, Task, check, planning
from rain.scheduler.api import News, Plan, Scheduler, SchedulerInterrupted
from rain.scheduler.rain import RainScheduler
from rain.server import guard
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.guard import TimeGuard
from tests.support.scenes import scene

pytestmark = pytest.mark.usefixtures("no_collections")

LIMIT = 0.05
FOREVER = 1e9


@pytest.fixture
def guarding() -> Iterator[TimeGuard]:
    """A guard, and then the signal as it was: pytest uses it for its own timeout."""
    timer = signal.setitimer(signal.ITIMER_REAL, 0.0)
    handler = signal.getsignal(signal.SIGALRM)
    yield TimeGuard(LIMIT, time.perf_counter)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


def ask(guard: TimeGuard, work: Callable[[], object], plan: Plan) -> None:
    """Guards what a scheduler does."""

    def schedule(graph: Graph, news: News, plan: Plan) -> None:
        work()

    guard(schedule, plan.graph, News(), plan)


def loop() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(FOREVER)


def catch_errors() -> None:
    while True:
        with contextlib.suppress(Exception):
            loop()


def catch_everything() -> None:
    while True:
        try:
            loop()
        except BaseException:  # noqa: BLE001 # as strangers do
            time.sleep(0.0)


def catch_everything_in_a_line() -> None:
    exec("while True:\n try: loop()\n except BaseException: pass", {"loop": loop})  # noqa: S102


def catch_from_afar() -> None:
    def inner() -> None:
        try:
            loop()
        finally:
            loop()

    while True:
        try:
            inner()
        except BaseException:  # noqa: BLE001 # as strangers do
            continue


def go_on_in_a_handler() -> None:
    try:
        raise KeyError
    except KeyError:
        catch_everything()


def catch_and_go_on() -> None:
    while True:
        try:
            sleep()
        except BaseException:  # noqa: BLE001 # as strangers do
            continue


def suppress_everything() -> None:
    while True:
        with contextlib.suppress(BaseException):
            sleep()


def catch_everything_twice() -> None:
    while True:
        try:
            catch_everything()
        except BaseException:  # noqa: BLE001 # as strangers do
            continue


def catch_everything_thrice() -> None:
    while True:
        with contextlib.suppress(BaseException):
            catch_everything_twice()


def clean_up_for_ever() -> None:
    try:
        loop()
    finally:
        loop()


@pytest.mark.parametrize(
    "work",
    [
        loop,
        sleep,
        catch_errors,
        catch_everything,
        catch_everything_in_a_line,
        catch_from_afar,
        go_on_in_a_handler,
        catch_and_go_on,
        suppress_everything,
        catch_everything_twice,
        catch_everything_thrice,
        clean_up_for_ever,
    ],
)
def test_a_scheduler_that_never_returns_is_interrupted(
    guarding: TimeGuard, work: Callable[[], None]
) -> None:
    plan = Plan(Graph())
    with pytest.raises(SchedulerInterrupted):
        ask(guarding, work, plan)
    assert plan.over
    assert guarding.take() >= LIMIT
    assert guarding.take() == 0.0
    assert sys.exc_info()[1] is None
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_no_step_is_left_half_made(guarding: TimeGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    # given: a step that is longer than the limit, and than several strikes
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    plan = Plan(s.world.state.graph)
    monkeypatch.setattr(guard, "AGAIN", 0.01)
    plan_slowly = planning.plan
    done: list[str] = []

    def slow(task: Task, governor: Governor, priority: int) -> None:
        deadline = time.perf_counter() + 4 * LIMIT
        while time.perf_counter() < deadline:
            pass
        plan_slowly(task, governor, priority)

    monkeypatch.setattr(Plan, "_plan", staticmethod(slow))

    # when
    def work() -> None:
        plan.assign(s.world.task(task), s.node(0))
        done.append("went on")

    with pytest.raises(SchedulerInterrupted):
        ask(guarding, work, plan)
    # then
    assert not done
    assert plan.steps == 1
    check(s.world.state.graph)
    assert s.world.task(task).scheduled is s.node(0)


def test_a_scheduler_that_ends_in_time_is_not_interrupted_later(guarding: TimeGuard) -> None:
    plan = Plan(Graph())
    done: list[bool] = []
    ask(guarding, lambda: done.append(True), plan)
    deadline = time.perf_counter() + 3 * LIMIT
    while time.perf_counter() < deadline:
        pass
    assert done == [True]
    assert not plan.over
    assert guarding.take() > 0.0


def test_a_signal_that_comes_when_nobody_is_guarded_is_ignored(guarding: TimeGuard) -> None:
    ask(guarding, lambda: None, Plan(Graph()))
    signal.raise_signal(signal.SIGALRM)


def test_the_timer_is_not_set_anew_for_each_run(
    guarding: TimeGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    times: list[float] = []
    real = signal.setitimer

    def setitimer(which: int, seconds: float) -> None:
        times.append(seconds)
        real(which, seconds)

    monkeypatch.setattr(signal, "setitimer", setitimer)
    # when
    for _ in range(5):
        ask(guarding, lambda: None, Plan(Graph()))
    # then
    assert times == [LIMIT]
    # when: it strikes, and nobody is guarded
    signal.raise_signal(signal.SIGALRM)
    # then
    assert times == [LIMIT]
    # when
    ask(guarding, lambda: None, Plan(Graph()))
    # then
    assert times == [LIMIT, LIMIT]


def test_a_run_that_begins_while_the_timer_runs_has_all_its_time(
    guarding: TimeGuard,
) -> None:
    # given
    ask(guarding, lambda: None, Plan(Graph()))
    plan = Plan(Graph())
    done: list[bool] = []

    def work() -> None:
        signal.raise_signal(signal.SIGALRM)  # as when the timer of an earlier run has run down
        done.append(True)

    # when / then
    ask(guarding, work, plan)
    assert done == [True]
    assert not plan.over
    # and: it is interrupted when its own time is over
    with pytest.raises(SchedulerInterrupted):
        ask(guarding, loop, plan)
    assert plan.over


@pytest.mark.usefixtures("guarding")
def test_a_scheduler_that_could_not_be_interrupted_has_no_plan_left_when_it_returns() -> None:
    # given: a library that computes without Python, in which no signal is heard
    times = iter([0.0, 1000.0])
    plan = Plan(Graph())
    # when
    ask(TimeGuard(999.0, lambda: next(times)), lambda: None, plan)
    # then
    assert plan.over


def test_an_error_of_the_scheduler_passes_through(guarding: TimeGuard) -> None:
    def work() -> None:
        raise ZeroDivisionError

    plan = Plan(Graph())
    with pytest.raises(ZeroDivisionError):
        ask(guarding, work, plan)
    assert not plan.over


def test_a_scheduler_that_is_never_made_ends_the_start_by_name(guarding: TimeGuard) -> None:
    def make() -> Scheduler:
        catch_everything()
        return RainScheduler()

    state = State(ReactorSettings(scheduler_limit=LIMIT))
    state.status.name = "mine.py:Endless"
    complaint = r"^the scheduler 'mine.py:Endless' cannot be made: .* 0.05 seconds \(--scheduler-l"
    with pytest.raises(StartError, match=complaint):
        Reactor(make, state, guarding)
