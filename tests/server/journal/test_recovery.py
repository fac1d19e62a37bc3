"""A server that was killed at any moment knows what it knew."""

from __future__ import annotations

import os
from collections import deque
from io import BytesIO
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.base.ids import GovernorId
from rain.base.states import TaskState
from rain.graph import check
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import GovernorLeft, ServerReturned
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.core.succession import Succession
from rain.server.framing import DamagedRecordError, frame
from rain.server.journal.folder import JournalFolder
from rain.server.journal.reading import Records
from rain.server.journal.records import Header, JournalError, encode_header
from rain.server.journal.recovery import recover
from rain.server.journal.writer import MAGIC, JournalEnded, Writer
from tests.support.fake_governor import FakeGovernor
from tests.support.full_disk import files_no_larger_than
from tests.support.remaking import remake_each
from tests.support.whole_state import whole
from tests.support.world import CLUSTER, World, new_world

SETTINGS = ReactorSettings(debug=True, governor_silence=1e9, much_wait=0.0, little_wait=0.0)
HEAD = MAGIC + frame(encode_header(Header(1, SETTINGS, cluster=CLUSTER)))


@pytest.fixture(scope="module")
def world() -> World:
    """Fifty tasks in layers on two governors, of which one leaves in the middle."""
    world = new_world(settings=SETTINGS)
    governors = [world.governor(2), world.governor(2)]
    client = world.client()
    draft = client.session()
    made = [draft.constant(b"x")]
    for number in range(50):
        _, outputs = draft.task(*made[-2:], keep=True)
        made += outputs
        if number % 10 == 9:
            client.submit(draft)
    while any(task.state is not TaskState.FINISHED for task in world.state.graph.tasks.values()):
        for governor in governors:
            if governor.fetching():
                governor.locate(*governor.fetching())
            if governor.runnable():
                governor.finish(*governor.runnable()[:2])
        if len(world.turns) > 25 and len(governors) == 2:
            client.unkeep(*made[1:40:3])
            governors.pop().leave()
    return world


@pytest.fixture
def folder(tmp_path: Path) -> JournalFolder:
    return JournalFolder.open(tmp_path / "journal")


def records_of(world: World) -> list[bytes]:
    return [frame(record) for record in world.journal if record is not None]


def test_after_every_turn_the_journal_tells_what_the_server_knows(world: World) -> None:
    live = Reactor(RainScheduler, State(SETTINGS, succession=Succession(CLUSTER)))
    turns = 0
    for given, again in zip(world.turns, remake_each(world), strict=True):
        live.turn(given)
        assert whole(again) == whole(live.state)
        turns += 1
    assert turns > 30


def test_a_journal_that_is_cut_in_a_record_ends_before_it(world: World) -> None:
    records = records_of(world)
    for number, record in enumerate(records):
        before = HEAD + b"".join(records[:number])
        for cut in (0, 1, 4, 8, 9, len(record) // 2, len(record) - 1):
            read = Records.of(BytesIO(before + record[:cut]))
            assert len(list(read.turns())) == number
            assert (read.whole, read.cut) == (len(before), cut)


@pytest.mark.no_cover  # it makes all turns again as often as there are turns
def test_a_server_goes_on_from_every_turn_even_if_the_next_one_is_torn(
    world: World, tmp_path: Path
) -> None:
    records = records_of(world)
    for number in range(len(records) + 1):
        # given: it was killed while it wrote
        folder = JournalFolder.open(tmp_path / str(number))
        torn = b"".join(records[number : number + 1])[:-3]
        folder.file(1).write_bytes(HEAD + b"".join(records[:number]) + torn)
        # when
        recovered = recover(folder, SETTINGS)
        # then: all tasks that were submitted are finished, by a governor that joins
        assert (recovered.turns, recovered.cut) == (number, len(torn))
        assert folder.file(1).stat().st_size == len(HEAD) + sum(map(len, records[:number]))
        finish_all(recovered.state)


def finish_all(state: State) -> None:
    """Lets a governor that joins finish all tasks."""
    again = World(Reactor(RainScheduler, state, notes_plans=True), last_governor=10)
    again.now = state.now
    again.turn(ServerReturned())
    again.turn(*[GovernorLeft(governor, "gone") for governor in list(state.graph.governors)])
    fake = again.governor(4)
    while fake.runnable() or fake.fetching():
        fake.locate(*fake.fetching())
        fake.finish(*fake.runnable())
    check(state.graph)
    assert {task.state for task in state.graph.tasks.values()} <= {TaskState.FINISHED}


def test_a_restarted_server_goes_on_in_a_new_file_and_restarts_again(
    world: World, folder: JournalFolder
) -> None:
    # given: three servers, each of which was killed
    records = [record for record in world.journal if record is not None]
    third = len(records) // 3
    for part in (records[:third], records[third : 2 * third], records[2 * third :]):
        recovered = recover(folder, SETTINGS)
        header = Header(recovered.turns + 1, SETTINGS)
        writer = Writer.create(folder, recovered.file + 1, header)
        for record in part:
            writer.write(record)
        writer.sync()
        writer.close()
    # when
    recovered = recover(folder, SETTINGS)
    # then
    assert (recovered.turns, recovered.file) == (len(records), 3)
    assert recovered.state.succession.last_client == 1
    assert recovered.state.succession.last_request == world.last_request
    assert [task.state for task in recovered.state.graph.tasks.values()] == [
        task.state for task in world.state.graph.tasks.values()
    ]


def test_what_a_killed_server_has_not_synced_is_durable_before_the_next_file_begins(
    world: World, folder: JournalFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: turns that were written and not synced, the last one torn
    records = records_of(world)[:9]
    folder.file(1).write_bytes(HEAD + b"".join(records)[:-1])
    synced: list[tuple[str, int]] = []

    def note(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append((path.name, path.stat().st_size))

    monkeypatch.setattr(os, "fsync", note)
    # when
    recover(folder, SETTINGS)
    # then
    whole = len(HEAD) + sum(map(len, records[:8]))
    assert synced == [(folder.file(1).name, whole)]


def test_the_settings_of_the_new_server_hold_and_its_scheduler_hears_of_what_has_no_plan(
    folder: JournalFolder,
) -> None:
    # given: tasks without a governor
    before = new_world(settings=SETTINGS)
    client = before.client()
    draft = client.session()
    tasks = [draft.task()[0] for _ in range(3)]
    client.submit(draft)
    folder.file(1).write_bytes(HEAD + b"".join(records_of(before)))
    # when
    settings = ReactorSettings(debug=True, overbooking=2)
    state = recover(folder, settings).state
    # then
    assert state.settings == settings
    assert [task.id for task in state.news.submitted] == tasks
    after = World(Reactor(RainScheduler, state, notes_plans=True), now=before.now)
    assert list(after.governor(2).tasks) == tasks[:2]


def test_a_damaged_end_is_cut_off_and_a_damaged_middle_stops_the_start(
    world: World, folder: JournalFolder
) -> None:
    records = records_of(world)[:9]
    path = folder.file(1)
    # given / when / then: the machine has stopped, and its last block is nonsense, or a hole
    for end in (bytes(4096), b"nonsense" * 99, records[8][:-1] + b"?"):
        path.write_bytes(HEAD + b"".join(records[:8]) + end)
        assert recover(folder, SETTINGS).turns == 8
        assert path.stat().st_size == len(HEAD) + sum(map(len, records[:8]))
    # and: something else has written into it
    damaged = bytearray(HEAD + b"".join(records))
    damaged[len(HEAD) + len(records[0]) + 20] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(StartError, match=r"turns-00000001 cannot be used: damaged before byte"):
        recover(folder, SETTINGS)
    assert path.read_bytes() == damaged


def test_a_file_that_ends_too_early_with_another_after_it_stops_the_start(
    world: World, folder: JournalFolder
) -> None:
    records = records_of(world)
    folder.file(1).write_bytes(HEAD + b"".join(records[:3]))
    header = MAGIC + frame(encode_header(Header(6, SETTINGS, cluster=CLUSTER)))
    folder.file(2).write_bytes(header + b"".join(records[5:]))
    with pytest.raises(StartError, match="begins with turn 6, and the one before ends with turn 3"):
        recover(folder, SETTINGS)


def test_a_file_whose_header_is_torn_was_never_used(world: World, folder: JournalFolder) -> None:
    records = records_of(world)
    folder.file(1).write_bytes(HEAD + b"".join(records[:3]))
    for torn in (b"", HEAD[:5], HEAD[:40]):
        folder.file(2).write_bytes(torn)
        recovered = recover(folder, SETTINGS)
        assert (recovered.turns, recovered.file) == (3, 1)
        assert not folder.file(2).exists()


@pytest.mark.parametrize("content", [b"#!/bin/sh\necho no journal\n" * 9, b"\0" * 100])
def test_what_is_no_journal_stops_the_start(content: bytes, folder: JournalFolder) -> None:
    folder.file(1).write_bytes(content)
    with pytest.raises(StartError, match="it is not a journal of Rain"):
        recover(folder, SETTINGS)
    assert folder.file(1).read_bytes() == content


def test_a_journal_on_a_full_disk_ends_by_name_and_what_was_written_counts(
    world: World, folder: JournalFolder
) -> None:
    # given
    records = [record for record in world.journal if record is not None]
    writer = Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER))
    # when
    with (
        files_no_larger_than(len(HEAD) + 2000),
        pytest.raises(JournalEnded, match=r"cannot go on with the journal .*: File too large"),
    ):
        deque(map(writer.write, records), maxlen=0)
    # then: when there is room again, it goes on
    written = writer.turns
    writer.close()
    assert 0 < written < len(records)
    assert recover(folder, SETTINGS).turns == written


def test_a_journal_that_cannot_be_begun_leaves_no_file(folder: JournalFolder) -> None:
    with (
        files_no_larger_than(100),
        pytest.raises(JournalEnded, match=r"cannot write the journal .*: File too large"),
    ):
        Writer.create(folder, 1, Header(1, SETTINGS, cluster=CLUSTER))
    assert not folder.files()


def test_a_folder_is_private_and_must_be_one(tmp_path: Path) -> None:
    folder = JournalFolder.open(tmp_path / "a" / "b")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"the journal .*file is not a folder"):
        JournalFolder.open(tmp_path / "file")


def test_a_record_of_another_format_is_refused_by_name() -> None:
    with pytest.raises(JournalError, match="its header cannot be read"):
        Records.of(BytesIO(MAGIC + frame(b"\xc1")))
    with pytest.raises(DamagedRecordError):
        Records.of(BytesIO(HEAD[:-1] + b"?"))


def test_when_the_server_returns_governors_have_as_much_time_as_ever(
    folder: JournalFolder,
) -> None:
    # given: a server that was away for a day
    settings = ReactorSettings(debug=True, governor_silence=20.0)
    before = new_world(settings=settings)
    before.governor()
    folder.file(1).write_bytes(HEAD + b"".join(records_of(before)))
    state = recover(folder, settings).state
    after = World(Reactor(RainScheduler, state, notes_plans=True), now=before.now)
    # when / then
    after.turn(ServerReturned(), after=86_400.0)
    after.turn(after=19.0)
    assert len(state.graph.governors) == 1
    after.governors.append(FakeGovernor(after, GovernorId(1), "127.0.0.1:9001"))
    after.turn(after=2.0)
    assert not state.graph.governors
    assert after.dismissed
