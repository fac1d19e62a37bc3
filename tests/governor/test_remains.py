"""What ends leaves nothing for the garbage collector, which runs seldom in a daemon."""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TypeVar, cast

import pytest
import structlog
from outcome import Outcome, capture

from rain.base.ids import KindId
from rain.base.kinds import ObjectKind
from rain.base.resources import Resources
from rain.governor.core.effects import FetchObject
from rain.governor.core.events import Event, FetchFailed
from rain.governor.core.nodes import DataObject, Session, Task
from rain.governor.core.results import Failed
from rain.governor.storage.fetch import Fetcher
from rain.governor.storage.store import Store
from rain.rpc.background import Background
from rain.stream.connections import Transfer
from rain.stream.errors import NotHereError
from rain.stream.reading import StreamReader
from tests.governor.words import builtin_kind, object_id, python_kind
from tests.governor.world import World
from tests.support.no_collector import no_collector

SESSIONS = 5

T = TypeVar("T")


@pytest.fixture(autouse=True)
def without_collector() -> Generator[None, None, None]:
    with no_collector():
        yield


def nodes() -> Counter[str]:
    """How many there are, those included that only a collector would find."""
    found = [type(one) for one in gc.get_objects()]
    return Counter(one.__name__ for one in found if one in (Session, Task, DataObject))


def begin(world: World, session: int) -> None:
    """Work of all kinds: runs in the governor that go on, have finished and have failed; calls that
    run, and that wait for an executor, for each other and for a transfer."""
    calls, runs = python_kind(session=session), builtin_kind(session=session)
    world.place(1, b"data", session=session)
    world.place(2, session=session)
    for number in (100, 101, 102):
        world.assign(runs, number, (1,), (number + 100,))
    _, good, bad = world.runs
    world.end_run(good, [b"made"])
    world.end_run(bad, Failed("it fails"))
    world.assign(calls, 103, (1,), (203,))
    world.assign(calls, 104, (1, 203), (204,))
    world.assign(calls, 105, (2,), (205,))
    for number in range(106, 110):
        world.assign(calls, number, (1,), (number + 100,))
    for number, executor in world.executors.items():
        if not executor.ready:
            world.ready(number)
        world.start_next(number)


def end(world: World, session: int) -> None:
    """The session ends, and then what of it still ran."""
    world.forget(session)
    for run in list(world.runs):
        world.end_run(run)
    for number, executor in list(world.executors.items()):
        if executor.running is not None:
            world.answer(number)
            world.collect(number)
        world.work(number)


def entries(root: object) -> int:
    """How many entries all tables together have that lead from there."""
    seen, pending, count = {id(root)}, [root], 0
    while pending:
        one = pending.pop()
        if isinstance(one, (dict, list, set, deque)):
            count += len(cast("Collection[object]", one))
        for other in gc.get_referents(one):
            if id(other) not in seen and not isinstance(other, (type, FunctionType, ModuleType)):
                seen.add(id(other))
                pending.append(other)
    return count


@pytest.mark.parametrize("answers", [False, True])
def test_a_session_that_ends_with_its_tasks_under_way_is_gone_at_once(answers: bool) -> None:
    world = World(Resources(3))
    for session in range(1, SESSIONS + 1):
        # given
        begin(world, session)
        if answers:
            world.answer(1)
            world.collect(1)
        assert nodes()["Task"] > 5

        # when
        end(world, session)

        # then
        assert nodes() == {}


def test_sessions_that_have_ended_leave_no_entry_in_any_table() -> None:
    world = World(Resources(3))
    left: list[int] = []
    for session in range(1, SESSIONS + 1):
        begin(world, session)
        end(world, session)
        left.append(entries(world.reactor))
    assert len(set(left[1:])) == 1  # the first one leaves its executors


class Missing:
    """A reader to which nobody gives anything."""

    def read_on(self, source: str, *_: object) -> None:
        raise NotHereError(f"{source} does not have it")


class AtOnce:
    """Runs in the caller what would run in a thread."""

    def in_thread(self, work: Callable[[], T], done: Callable[[Outcome[T]], object]) -> None:
        done(capture(work))


def test_a_fetch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    told: list[Event] = []
    fetcher = Fetcher(
        cast("StreamReader", Missing()),
        Store(tmp_path),
        cast("Background", AtOnce()),
        told.append,
        structlog.get_logger(),
    )
    fetcher.start(FetchObject(1, object_id(1), "a:1 b:2", 100, ObjectKind(KindId(1))))
    assert isinstance(told[0], FetchFailed)
    assert not [one for one in gc.get_objects() if isinstance(one, Transfer | NotHereError)]
