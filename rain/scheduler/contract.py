"""The contract that every scheduler must keep, as a test that authors of schedulers can run.

    from rain.scheduler.contract import check_scheduler

    def test_my_scheduler_keeps_the_contract():
        check_scheduler(MyScheduler)

A simulated cluster without time (`tabletop`) runs random graphs: tasks of several sizes, with gpus,
pins and groups; governors that join and leave; sessions that are closed; tasks that end in any
order. The consistency checker checks the graph after every step. A violation raises
`BrokenContract`, which says which part of the contract is broken, and with which seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from random import Random
from typing import NoReturn, TypeVar

from attrs import define

from rain.base.errors import PlanError
from rain.graph import Task, check
from rain.scheduler.api import Plan, Scheduler
from rain.scheduler.renewal import first_news, forget
from rain.scheduler.tabletop import Tabletop

SEEDS = 20
STEPS = 150
"""Steps of a random run with random events."""

PATIENCE = 1000
"""Further steps in which everything must finish."""

LIFE = 40
"""Steps after which the scheduler is created again."""

RARELY = 10
"""The graph is checked after this many steps."""

WAITING = 300
"""Tasks that wait when more urgent ones come."""

URGENT = 5
"""Tasks that come then with a higher priority."""

SOON = 50.0
"""Seconds after which a governor must be gone."""

HINTS = (0.0, 0.001, 0.05, 10.0)
"""The durations that both are said to have; 0 says nothing."""

K = TypeVar("K")
V = TypeVar("V")


class BrokenContract(AssertionError):  # fails a test
    """A scheduler violates the contract."""


def check_scheduler(make: Callable[[], Scheduler], seeds: Iterable[int] = range(SEEDS)) -> None:
    """Raises `BrokenContract` with the first part of the contract that does not hold.

    * Every plan obeys the rules: resources, constraints, existing tasks and governors.
    * No task starves: every task that fits some governor finishes in the end.
    * It is deterministic: the same news lead to the same plans.
    * It is incremental: it never iterates over all tasks or all objects of the graph.
    * It can be created again at any time and continues where the previous one ended.
    * Priorities hold within a session: a task that comes later, but with a higher priority, starts
      before those that wait.
    * Time is heeded: a task that is expected to end later than a governor is not planned there, and
      tasks for which no governor has the time hold no others up.
    """
    for seed in seeds:
        first = _run(make, seed)
        if _run(make, seed) != first:
            _fail(seed, "it is not deterministic: two runs with the same news differ")
    for hint in HINTS:
        _check_priorities(make, hint)
    _check_time(make)


def _run(make: Callable[[], Scheduler], seed: int) -> list[tuple[int, int]]:
    """Makes a random run; returns all assignments in order."""
    random = Random(seed)
    scheduler, table = make(), Tabletop(random)
    guard = _Guard()
    table.graph.tasks = _Watched("tasks", guard, table.graph.tasks)
    table.graph.objects = _Watched("objects", guard, table.graph.objects)
    for step in range(STEPS + PATIENCE):
        if step < STEPS:
            table.something_happens()
        else:
            table.settle()
            table.passes(1.0)
        if step % LIFE == LIFE - 1:
            scheduler = make()
            forget(table.graph)
            table.news = first_news(table.graph)
        _schedule(scheduler, table, guard, seed)
        table.work(random.randint(1, 6))
        if step < STEPS or step % RARELY == 0:
            check(table.graph)
        if step > STEPS and not table.unfinished():
            break
    else:
        _fail(seed, f"it lets tasks starve: {table.unfinished()[:3]} were never run")
    check(table.graph)
    return table.assigned


def _check_priorities(make: Callable[[], Scheduler], hint: float) -> None:
    """Tasks of two priorities on one governor, which runs them one after the other."""
    scheduler, table, guard = make(), Tabletop(Random(0)), _Guard()
    while len(table.graph.governors) > 1:
        table.leave(next(iter(table.graph.governors.values())))
    table.submit_alike(WAITING, 0, hint)
    _plan(scheduler, table, guard, 0)
    urgent = dict.fromkeys(table.submit_alike(URGENT, 7, hint))
    before = 0
    for _ in range(PATIENCE):
        _plan(scheduler, table, guard, 0)
        table.now += max(hint, 0.001)
        task = table.start_one()
        if task in urgent:
            del urgent[task]
        elif task is not None:
            before += 1
        if not urgent:
            break
    cpus = sum(governor.cpus for governor in table.graph.governors.values())
    if urgent or before > cpus:
        _fail(0, f"it does not heed priorities: {before} of lower priority have started before")


def _check_time(make: Callable[[], Scheduler]) -> None:
    """Long tasks wait for a governor that stays, and short ones run meanwhile on one that ends."""
    scheduler, table, guard = make(), Tabletop(Random(0)), _Guard()
    for governor in list(table.graph.governors.values()):
        table.leave(governor)
    table.join(SOON)
    long = dict.fromkeys(table.submit_alike(WAITING, 0, 2 * SOON))
    _plan(scheduler, table, guard, 0)
    short = dict.fromkeys(table.submit_alike(URGENT, 0, SOON / 100))
    if _run_all(scheduler, table, guard, short):
        _fail(0, "short tasks wait for others that no governor has the time for")
    table.join(inf)
    if _run_all(scheduler, table, guard, long):
        _fail(0, "tasks that no governor had the time for are not run by one that has it")


def _run_all(
    scheduler: Scheduler, table: Tabletop, guard: _Guard, tasks: dict[Task, None]
) -> dict[Task, None]:
    """Runs what is planned until all of these have finished; returns those that have not."""
    left = dict(tasks)
    for _ in range(PATIENCE):
        if not left:
            break
        _plan(scheduler, table, guard, 0)
        table.passes(SOON / 1000)
        task = table.start_one()
        if task is not None:
            left.pop(task, None)
    return left


def _schedule(scheduler: Scheduler, table: Tabletop, guard: _Guard, seed: int) -> None:
    table.obey(_plan(scheduler, table, guard, seed))


def _plan(scheduler: Scheduler, table: Tabletop, guard: _Guard, seed: int) -> Plan:
    plan = Plan(table.graph, table.estimates, table.now)
    news = table.take_news()
    guard.closed = True
    try:
        scheduler.schedule(table.graph, news, plan)
    except PlanError as error:
        _fail(seed, f"its plan breaks the rule {error.rule!r}: {error}")
    except _WalkedError as error:
        _fail(seed, f"it is not incremental: it walks over graph.{error}")
    finally:
        guard.closed = False
    return plan


def _fail(seed: int, why: str) -> NoReturn:
    raise BrokenContract(f"seed {seed}: {why}")


class _WalkedError(Exception):
    """The scheduler has iterated over a table that may be very large."""


@define
class _Guard:
    """Whether the scheduler is running."""

    closed: bool = False


class _Watched(Mapping[K, V]):
    """A table over which a scheduler must not iterate; single look-ups are allowed."""

    def __init__(self, name: str, guard: _Guard, entries: Mapping[K, V]) -> None:
        self._name = name
        self._guard = guard
        self._entries = entries

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        if self._guard.closed:
            raise _WalkedError(self._name)
        return iter(self._entries)
