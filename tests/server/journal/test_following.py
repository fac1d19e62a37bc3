"""A standby follows a journal while it is written, and servers that were replaced add nothing."""

from __future__ import annotations

import pytest
import structlog
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.errors import StartError
from rain.base.ids import RequestId
from rain.base.wire.requests import OpenSession
from rain.server.core.messages import Asked
from rain.server.framing import frame
from rain.server.journal.compacting import compact
from rain.server.journal.folder import JournalFolder
from rain.server.journal.reading import latest_generation
from rain.server.journal.records import Header, encode_header
from rain.server.journal.recovery import BehindError, Recovery, recover
from rain.server.journal.writer import MAGIC, JournalEnded, Writer
from rain.server.lease.lease import LeaseLostError, take
from rain.server.lease.rules import NOBODY
from tests.server.journal.test_compaction import folder, write
from tests.server.journal.test_keeping import CLIENT, Kept
from tests.server.journal.test_recovery import SETTINGS, records_of, world
from tests.server.lease.test_lease import LENGTH, ONE, TWO, Place
from tests.support.whole_state import whole
from tests.support.world import CLUSTER, World

__all__ = ["folder", "world"]  # fixtures


def head(first: int, generation: int) -> bytes:
    header = Header(first, SETTINGS, cluster=CLUSTER, generation=generation)
    return MAGIC + frame(encode_header(header))


# Following.


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 40_000), max_size=20))
def test_a_standby_knows_what_is_whole_and_in_the_end_everything(
    cuts: list[int], world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = JournalFolder.open(tmp_path_factory.mktemp("journal"))
    records = records_of(world)
    ends = [len(records) // 3, 2 * len(records) // 3, len(records)]
    files = [
        head(begin + 1, 1) + b"".join(records[begin:end])
        for begin, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    following = Recovery.begin(folder, SETTINGS)
    for cut in sorted(cuts):
        left = cut
        for number, content in enumerate(files, 1):
            if left > 0:
                folder.file(number).write_bytes(content[:left])
            left -= len(content)
        # when
        following.catch_up()
        # then: nothing is missing that another server would find
        assert following.recovered.turns == whole_turns(files, cut)
    for number, content in enumerate(files, 1):
        folder.file(number).write_bytes(content)
    recovered = following.finish()
    assert (recovered.turns, recovered.file) == (len(records), 3)
    assert whole(recovered.state) == {**whole(world.state), "generation": 1}


def whole_turns(files: list[bytes], cut: int) -> int:
    """How many whole turns the first bytes of all files have."""
    turns = 0
    for content in files:
        part = content[: max(cut, 0)]
        cut -= len(content)
        place, count = len(MAGIC), 0
        while place + 8 <= len(part):
            end = place + 8 + int.from_bytes(part[place : place + 4], "big")
            if end > len(part):
                break
            place, count = end, count + 1
        turns += max(count - 1, 0)  # the first one is the header
    return turns


def test_a_standby_that_is_behind_begins_with_the_snapshot(
    world: World, folder: JournalFolder
) -> None:
    # given: a standby has read the first file, and a snapshot takes the place of the next ones
    records = write(folder, world, 10, 20, 30)
    rest = {number: folder.file(number).read_bytes() for number in (2, 3, 4)}
    for number in rest:
        folder.file(number).unlink()
    following = Recovery.begin(folder, SETTINGS)
    following.catch_up()
    assert following.recovered.turns == 10
    for number, content in rest.items():
        folder.file(number).write_bytes(content)
    compact(folder, 3)
    for number in (1, 2, 3):
        folder.file(number).unlink()
    # when / then
    with pytest.raises(BehindError):
        following.catch_up()
    following.close()
    again = Recovery.begin(folder, SETTINGS)
    again.catch_up()
    assert again.recovered.turns == len(records)
    assert whole(again.finish().state) == whole(world.state)


def test_a_standby_does_not_go_on_from_what_a_machine_has_lost(
    world: World, folder: JournalFolder
) -> None:
    records = write(folder, world)
    following = Recovery.begin(folder, SETTINGS)
    following.catch_up()
    content = folder.file(1).read_bytes()
    folder.file(1).write_bytes(content[: -len(records[-1])])
    with pytest.raises(BehindError, match="has lost what was read"):
        following.finish()
    following.close()
    assert recover(folder, SETTINGS).turns == len(records) - 1


# Fencing.


def two_generations(folder: JournalFolder, world: World, place: int, more: int) -> list[bytes]:
    """The second server has gone on after `place` turns, and the first one has written more."""
    records = records_of(world)
    folder.file(1).write_bytes(head(1, 1) + b"".join(records[: place + more]))
    folder.file(2).write_bytes(head(place + 1, 2) + b"".join(records[place:]))
    return records


def test_a_standby_that_begins_later_follows_past_what_a_replaced_server_has_written(
    world: World, folder: JournalFolder
) -> None:
    records = two_generations(folder, world, 20, 7)
    following = Recovery.begin(folder, SETTINGS)
    # when / then: it need not begin anew, which would end in the same way
    following.catch_up()
    assert following.recovered.turns == len(records)
    assert whole(following.finish().state) == {**whole(world.state), "generation": 2}


@pytest.mark.parametrize("torn", [0, 5])
def test_what_a_replaced_server_has_written_is_not_read(
    world: World, folder: JournalFolder, torn: int
) -> None:
    records = two_generations(folder, world, 20, 7)
    first = folder.file(1).read_bytes()
    folder.file(1).write_bytes(first[: len(first) - torn])
    # when / then
    recovered = recover(folder, SETTINGS)
    assert (recovered.turns, recovered.file, recovered.cut) == (len(records), 2, 0)
    assert recovered.state.succession.generation == 2
    assert whole(recovered.state) == {**whole(world.state), "generation": 2}
    assert latest_generation(folder) == 2
    # and: a snapshot of it has none of that
    compact(folder, 1)
    folder.file(1).unlink()
    assert whole(recover(folder, SETTINGS).state) == {**whole(world.state), "generation": 2}


def test_a_standby_that_has_read_it_begins_anew(world: World, folder: JournalFolder) -> None:
    records = two_generations(folder, world, 20, 7)
    second = folder.file(2).rename(folder.path / "later")
    following = Recovery.begin(folder, SETTINGS)
    following.catch_up()
    assert following.recovered.turns == 27
    second.rename(folder.file(2))
    with pytest.raises(BehindError):
        following.catch_up()
    following.close()
    assert recover(folder, SETTINGS).turns == len(records)


def test_two_files_of_one_server_must_fit_together(world: World, folder: JournalFolder) -> None:
    records = records_of(world)
    folder.file(1).write_bytes(head(1, 1) + b"".join(records[:27]))
    folder.file(2).write_bytes(head(21, 1) + b"".join(records[20:]))
    with pytest.raises(StartError, match="begins with turn 21, and the one before ends with turn"):
        recover(folder, SETTINGS)


def test_a_replaced_server_does_not_take_the_place_of_a_later_file(folder: JournalFolder) -> None:
    old = Writer.create(folder, 1, Header(1, SETTINGS, generation=1))
    old.begin_next(Header(1, SETTINGS, generation=1))
    new = Writer.create(folder, 2, Header(1, SETTINGS, generation=2))
    before = folder.file(2).read_bytes()
    # when / then
    with pytest.raises(JournalEnded, match="File exists"):
        old.sync()
    assert folder.file(2).read_bytes() == before
    old.close()
    new.close()


def test_a_server_that_was_replaced_tells_nobody_anything(folder: JournalFolder) -> None:
    # given: a server that leads, and then stands still while another one takes over
    kept = Kept(folder, Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER)))
    kept.begin()
    place = Place()
    kept.keeper.lease = place.take()
    kept.turn(Asked(CLIENT, RequestId(1), OpenSession("before", "{}")))
    trio.run(kept.keeper.sync)
    told = len(kept.carried)
    assert told
    place.now += 2 * LENGTH
    place.record = place.record.taken_by(TWO, LENGTH)
    # when / then: neither with a turn, nor with what it has promised
    with pytest.raises(LeaseLostError):
        kept.turn(Asked(CLIENT, RequestId(2), OpenSession("after", "{}")))
    with pytest.raises(LeaseLostError):
        trio.run(kept.keeper.sync)
    assert len(kept.carried) == told
    kept.writer.close()


def test_a_lease_in_another_place_is_above_the_generation_of_the_journal(
    folder: JournalFolder,
) -> None:
    folder.file(1).write_bytes(head(1, 6))
    place, log = Place(), structlog.get_logger()
    lease = take(place, NOBODY, ONE, LENGTH, latest_generation(folder), log, place.clock)
    assert lease is not None
    assert lease.generation == 7
