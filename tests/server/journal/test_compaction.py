"""Snapshots take the place of old files of a journal, and no moment of that loses anything."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
import trio
from structlog.testing import capture_logs

from rain.base.errors import StartError
from rain.base.ids import RequestId, SessionId
from rain.base.wire.requests import CloseSession, OpenSession, Submit
from rain.server.core.messages import Asked
from rain.server.core.state import State
from rain.server.core.succession import Succession
from rain.server.framing import frame
from rain.server.journal.compacting import compact
from rain.server.journal.compaction import Compaction
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header, encode_header
from rain.server.journal.recovery import recover
from rain.server.journal.writer import MAGIC, Writer
from tests.server.journal.test_keeping import CLIENT, Kept
from tests.server.journal.test_recovery import SETTINGS, records_of, world
from tests.support.submissions import Draft
from tests.support.waiting import until
from tests.support.whole_state import whole
from tests.support.world import CLUSTER, World

__all__ = ["world"]  # a fixture


@pytest.fixture
def folder(tmp_path: Path) -> JournalFolder:
    return JournalFolder.open(tmp_path / "journal")


def head(first: int) -> bytes:
    return MAGIC + frame(encode_header(Header(first, SETTINGS, cluster=CLUSTER)))


def write(folder: JournalFolder, world: World, *ends: int) -> list[bytes]:
    """Files of turns which end there, and one with the others."""
    records = records_of(world)
    begins = [0, *ends]
    for number, (begin, end) in enumerate(zip(begins, [*ends, len(records)], strict=True), 1):
        folder.file(number).write_bytes(head(begin + 1) + b"".join(records[begin:end]))
    return records


def names(folder: JournalFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir() if path.name != "leases")


def test_a_snapshot_and_the_turns_after_it_tell_what_all_turns_tell(
    world: World, folder: JournalFolder, tmp_path: Path
) -> None:
    for place in range(1, 40, 6):
        folder = JournalFolder.open(tmp_path / str(place))
        records = write(folder, world, place)
        # when
        compact(folder, 1)
        folder.file(1).unlink()
        # then
        recovered = recover(folder, SETTINGS)
        assert (recovered.turns, recovered.file, recovered.snapshot) == (len(records), 2, 1)
        assert whole(recovered.state) == whole(world.state)


def test_a_snapshot_is_made_of_the_one_before_and_the_files_since_then(
    world: World, folder: JournalFolder
) -> None:
    records = write(folder, world, 10, 20, 30)
    compact(folder, 1)
    folder.file(1).unlink()
    compact(folder, 3)
    for number in (2, 3):
        folder.file(number).unlink()
    recovered = recover(folder, SETTINGS)
    assert (recovered.turns, recovered.file, recovered.snapshot) == (len(records), 4, 3)
    assert whole(recovered.state) == whole(world.state)


def test_a_damaged_snapshot_is_replaced_by_the_one_before_and_its_files(
    world: World, folder: JournalFolder
) -> None:
    # given
    records = write(folder, world, 10, 20, 30)
    compact(folder, 1)
    compact(folder, 3)
    for path in folder.superfluous():
        path.unlink()
    assert names(folder) == [
        "snapshot-00000001",
        "snapshot-00000003",
        "turns-00000002",
        "turns-00000003",
        "turns-00000004",
    ]
    damaged = bytearray(folder.snapshot(3).read_bytes())
    damaged[-1] ^= 1  # in a record, and not in what tells its length
    folder.snapshot(3).write_bytes(damaged)
    # when
    recovered = recover(folder, SETTINGS)
    # then
    assert (recovered.turns, recovered.snapshot) == (len(records), 1)
    assert whole(recovered.state) == whole(world.state)
    assert "snapshot-00000003 cannot be used: the snapshot is damaged" in recovered.damage
    # and when: the other one is damaged as well
    folder.snapshot(1).write_bytes(b"")
    # then: the start is stopped by name
    with pytest.raises(
        StartError, match=r"turns-00000002 .*file is missing, and .*snapshot-0000000"
    ):
        recover(folder, SETTINGS)


def test_with_one_snapshot_all_files_stay_since_they_are_the_only_other_way(
    world: World, folder: JournalFolder
) -> None:
    write(folder, world, 10)
    compact(folder, 1)
    assert folder.superfluous() == []
    folder.snapshot(1).write_bytes(b"")
    assert whole(recover(folder, SETTINGS).state) == whole(world.state)


# The change from one file to the next.


def test_a_begun_file_goes_on_where_the_one_before_ends(
    world: World, folder: JournalFolder
) -> None:
    records = write(folder, world, 20)
    folder.file(2).rename(folder.begun(2))
    recovered = recover(folder, SETTINGS)
    assert (recovered.turns, recovered.file, recovered.cut) == (len(records), 2, 0)
    assert whole(recovered.state) == whole(world.state)
    assert names(folder) == ["turns-00000001", "turns-00000002"]


def test_a_begun_file_is_left_out_if_the_one_before_has_lost_its_end(
    world: World, folder: JournalFolder
) -> None:
    # given: the machine has stopped before the first file was synced
    write(folder, world, 20)
    begun = folder.file(2).rename(folder.begun(2))
    size = begun.stat().st_size
    former = folder.file(1)
    former.write_bytes(former.read_bytes()[:-5])
    # when
    recovered = recover(folder, SETTINGS)
    # then
    assert (recovered.turns, recovered.file) == (19, 1)
    assert recovered.cut > size
    assert names(folder) == ["turns-00000001"]


@pytest.mark.parametrize("length", [0, 5, 40])
def test_a_begun_file_without_a_header_is_nothing(
    world: World, folder: JournalFolder, length: int
) -> None:
    write(folder, world, 20)
    folder.file(2).unlink()
    folder.begun(2).write_bytes(head(21)[:length])
    recovered = recover(folder, SETTINGS)
    assert (recovered.turns, recovered.file) == (20, 1)
    assert names(folder) == ["turns-00000001"]


def test_the_next_file_has_its_name_when_the_one_before_is_synced(folder: JournalFolder) -> None:
    writer = Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER))
    writer.begin_next(Header(1, SETTINGS, cluster=CLUSTER))
    assert names(folder) == ["turns-00000001", "turns-00000002.begun"]
    writer.sync()
    assert names(folder) == ["turns-00000001", "turns-00000002"]
    writer.close()


# In a server.


def compaction(kept: Kept, least: int) -> Compaction:
    made = Compaction(kept.folder, kept.reactor.state, structlog.get_logger(), least=least)
    kept.keeper.compaction = made
    return made


async def in_this_process(made: Compaction, last: int) -> None:
    compact(made.folder, last)


def test_a_journal_is_bounded_by_what_is_alive(
    folder: JournalFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: a session that stays, and others that come and go
    kept = Kept(folder, Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER)))
    kept.begin()
    least = 3_000
    made = compaction(kept, least)
    monkeypatch.setattr(Compaction, "_compact", in_this_process)
    kept.turn(Asked(CLIENT, RequestId(1), OpenSession("stays", "{}")))
    draft = Draft(SessionId(1))
    draft.task()
    kept.turn(Asked(CLIENT, RequestId(2), Submit(draft.submission)))
    sizes: list[int] = []
    snapshots: set[int] = set()

    async def live() -> None:
        for number in range(2, 1_200):
            request = RequestId(2 * number)
            kept.turn(Asked(CLIENT, request, OpenSession("goes", "{}")))
            kept.turn(Asked(CLIENT, RequestId(request + 1), CloseSession(SessionId(number))))
            if number % 5 == 0:
                await kept.keeper.close_long_file()
                if made.is_wanted:
                    await made.make_snapshot()
                snapshots.update(folder.snapshots())
                files = (path for path in folder.path.iterdir() if path.is_file())
                sizes.append(sum(path.stat().st_size for path in files))

    # when
    trio.run(live)
    kept.writer.close()
    # then: two generations of a snapshot of some kilobytes, and of the turns
    assert len(snapshots) > 5
    newest = max(folder.snapshots())
    snapshot = folder.snapshot(newest).stat().st_size
    assert max(sizes) < 2 * (snapshot + max(least, 2 * snapshot) + 4_000)
    assert len(folder.files()) <= 3
    # and
    recovered = recover(folder, SETTINGS)
    assert recovered.turns == kept.writer.turns
    assert recovered.snapshot == newest
    assert whole(recovered.state) == whole(kept.reactor.state)
    assert recovered.state.graph.last_session == 1_199


def test_the_program_makes_a_snapshot_beside_the_server(folder: JournalFolder) -> None:
    kept = Kept(folder, Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER)))
    kept.begin()
    made = compaction(kept, 0)

    async def scene() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.keeper.run)
            nursery.start_soon(made.run)
            await until(lambda: bool(folder.snapshots()))
            nursery.cancel_scope.cancel()

    trio.run(scene)
    kept.writer.close()
    recovered = recover(folder, SETTINGS)
    assert recovered.snapshot == 1
    assert whole(recovered.state) == whole(kept.reactor.state)


def test_a_snapshot_that_cannot_be_made_is_told_and_nothing_is_removed(
    folder: JournalFolder,
) -> None:
    # given: a file that is damaged
    kept = Kept(folder, Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER)))
    kept.begin()
    made = compaction(kept, 500)
    kept.writer.begin_next(made.header(kept.writer.turns + 1))
    kept.writer.sync()
    folder.file(1).write_bytes(folder.file(1).read_bytes()[:-3])
    made.closed(1)
    # when
    with capture_logs() as said:
        trio.run(made.make_snapshot)
    # then
    (line,) = said
    assert line["event"] == "the journal stays as long as it is"
    assert "it is damaged after turn 1" in line["cause"]
    assert names(folder) == ["turns-00000001", "turns-00000002"]
    # and: it is tried again when there is as much again as makes one worth while
    assert not made.is_due(500)
    assert made.is_due(501)
    kept.writer.close()


def test_what_an_interrupted_snapshot_has_left_is_removed(folder: JournalFolder) -> None:
    left = folder.path / ".snapshot-00000001.77"
    left.write_bytes(b"half")
    kept = Kept(folder, Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER)))
    compaction(kept, 10**9)
    assert not left.exists()
    kept.writer.close()


def test_a_server_that_returns_to_much_has_a_snapshot_made_at_once(
    world: World, folder: JournalFolder
) -> None:
    write(folder, world, 20)
    recovered = recover(folder, SETTINGS)
    header = Header(recovered.turns + 1, SETTINGS)
    writer = Writer.create(folder, recovered.file + 1, header)
    made = Compaction(folder, recovered.state, structlog.get_logger(), recovered.file, least=100)
    assert made.is_wanted
    trio.run(made.make_snapshot)
    assert list(folder.snapshots()) == [2]
    # and: the file that this server writes does not count before it is closed
    assert not made.is_wanted
    assert not made.is_due(100)
    writer.close()


def test_each_further_file_names_its_cluster(folder: JournalFolder) -> None:
    # given
    state = State(SETTINGS, succession=Succession(b"ours"))
    state.graph.last_session = 7
    # when
    header = Compaction(folder, state, structlog.get_logger(), 0).header(5)
    folder.file(1).write_bytes(MAGIC + frame(encode_header(Header.of(1, state))))
    # then: clients would not know a server of another name
    assert header == Header(5, SETTINGS, 7, b"ours")
    assert recover(folder, SETTINGS).state.succession.cluster == b"ours"
