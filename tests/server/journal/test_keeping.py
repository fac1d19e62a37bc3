"""What a turn wants done waits for the disk only where it promises something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from attrs import Factory, define
from structlog import get_logger
from trio.testing import wait_all_tasks_blocked

from rain.base.ids import ClientId, GovernorId, RequestId, SessionId
from rain.base.resources import Resources
from rain.base.wire.requests import CloseSession, OpenSession, Submit
from rain.base.wire.update import Monitoring, Update
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import (
    Asked,
    ClientEvent,
    ClientJoined,
    Effect,
    GovernorEvent,
    GovernorJoined,
    GovernorUpdated,
    Granted,
    OrderGovernor,
    Refuse,
    TurnInput,
)
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.core.succession import Succession
from rain.server.journal.compaction import Compaction
from rain.server.journal.folder import JournalFolder
from rain.server.journal.keeping import JournalKeeper
from rain.server.journal.records import Header
from rain.server.journal.recovery import recover
from rain.server.journal.writer import JournalEnded, Writer
from tests.support.full_disk import files_no_larger_than
from tests.support.submissions import Draft
from tests.support.waiting import until
from tests.support.world import CLUSTER

SETTINGS = ReactorSettings(debug=True)
GOVERNOR, CLIENT = GovernorId(7), ClientId(1)
OPEN = Asked(CLIENT, RequestId(1), OpenSession("s", "{}"))


@define(eq=False)
class SlowDisk:
    """Syncs when the test lets it."""

    begun: int = 0
    may_end: threading.Semaphore = Factory(lambda: threading.Semaphore(0))

    def sync(self) -> None:
        self.begun += 1
        self.may_end.acquire()


@define(eq=False)
class Kept:
    """A reactor whose turns are kept."""

    folder: JournalFolder
    writer: Writer
    reactor: Reactor = Factory(
        lambda: Reactor(
            RainScheduler, State(SETTINGS, succession=Succession(CLUSTER)), notes_plans=True
        )
    )
    carried: list[Effect] = Factory(list)
    now: float = 1000.0
    keeper: JournalKeeper = Factory(
        lambda self: JournalKeeper(self.writer, self.carried.append), takes_self=True
    )

    def turn(self, *events: GovernorEvent | ClientEvent, quiet: bool = False) -> None:
        self.now += 1.0
        given = TurnInput(self.now)
        for event in events:
            if isinstance(event, GovernorEvent):
                given.from_governors.append(event)
            else:
                given.from_clients.append(event)
        self.keeper.turn(self.reactor, given, quiet=quiet)
        self.reactor.settle()

    def begin(self) -> None:
        self.turn(GovernorJoined(GOVERNOR, "a:1", Resources(2)))
        self.turn(ClientJoined(CLIENT))

    def carried_types(self) -> list[type]:
        return [type(effect) for effect in self.carried]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    folder = JournalFolder.open(tmp_path / "journal")
    writer = Writer.create(folder, 1, Header(1, SETTINGS))
    yield Kept(folder, writer)
    writer.close()


def submission() -> Asked:
    draft = Draft(SessionId(1))
    draft.task()
    return Asked(CLIENT, RequestId(3), Submit(draft.submission))


def test_a_promise_waits_for_the_sync_that_holds_its_turn_and_nothing_else_waits(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk()
    monkeypatch.setattr(Writer, "sync", disk.sync)  # it is no function of the class: no self

    async def scene() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.keeper.run)
            kept.begin()
            await until(lambda: disk.begun == 1)
            # when: something is asked for while what came before is synced
            kept.turn(OPEN)
            kept.turn(Asked(CLIENT, RequestId(2), CloseSession(SessionId(99))))
            kept.turn(submission())
            # then: what is refused, and what a governor is to do, leave at once
            assert kept.carried_types() == [Refuse, OrderGovernor]
            # and: the end of the sync that began before does not count
            disk.may_end.release()
            await until(lambda: disk.begun == 2)
            assert kept.carried_types() == [Refuse, OrderGovernor]
            # and: the next one does
            disk.may_end.release()
            await until(lambda: len(kept.carried) == 4)
            assert kept.carried_types()[2:] == [Granted, Granted]
            nursery.cancel_scope.cancel()

    trio.run(scene)


def test_a_new_file_does_not_begin_while_the_end_of_the_server_syncs_the_old_one(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    began, may_end = threading.Event(), [threading.Event() for _ in range(3)]
    left = iter(may_end)

    def sync(_: Writer) -> None:
        happened.append("sync begins")
        began.set()
        next(left).wait()
        happened.append("sync ends")

    def begin_next(writer: Writer, _: Header) -> None:
        happened.append("new file")
        writer.size = 0

    monkeypatch.setattr(Writer, "sync", sync)
    monkeypatch.setattr(Writer, "begin_next", begin_next)
    kept.keeper.compaction = Compaction(kept.folder, kept.reactor.state, get_logger(), least=1)

    async def scene() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.keeper.run)
            kept.begin()
            await until(began.is_set)
            nursery.start_soon(kept.keeper.sync)  # as at the end
            await wait_all_tasks_blocked(0.01)
            # when: the first sync ends, and the file is long enough
            may_end[0].set()
            await until(lambda: len(happened) > 2)
            for one in may_end:
                one.set()
            await until(lambda: happened.count("sync ends") == 3)
            nursery.cancel_scope.cancel()

    trio.run(scene)
    assert happened == [*["sync begins", "sync ends"] * 2, "new file", "sync begins", "sync ends"]


def test_signs_of_life_are_not_written_when_nothing_follows_from_them(kept: Kept) -> None:
    kept.begin()
    kept.turn(OPEN)
    written = kept.writer.turns
    for _ in range(5):
        kept.turn(GovernorUpdated(GOVERNOR, Update()), quiet=True)
    assert kept.writer.turns == written
    # and: those that come while something goes on become one short record
    kept.reactor.state.lessons.append({})
    before = kept.writer.path.stat().st_size
    kept.turn(*[GovernorUpdated(GOVERNOR, Update())] * 50, quiet=True)
    assert kept.writer.turns == written + 1
    assert kept.writer.path.stat().st_size < before + 40


def test_samples_of_machines_are_left_out(kept: Kept) -> None:
    kept.begin()
    before = kept.writer.path.stat().st_size
    sample = Monitoring((5,) * 64, 5, ("eth0",) * 99, (1,) * 99, (1,) * 99)
    update = Update(monitoring=[sample])
    kept.turn(GovernorUpdated(GOVERNOR, update))
    assert kept.writer.path.stat().st_size < before + 150
    assert update.monitoring == [sample]


def test_a_turn_that_cannot_be_written_has_no_effects(kept: Kept) -> None:
    kept.begin()
    kept.turn(OPEN)
    kept.carried.clear()
    with (
        files_no_larger_than(kept.writer.path.stat().st_size + 50),
        pytest.raises(JournalEnded),
    ):
        kept.turn(submission())
    assert not kept.carried
    # and: a server that goes on does not know of it either
    state = recover(kept.folder, SETTINGS).state
    assert not state.graph.sessions[SessionId(1)].tasks
