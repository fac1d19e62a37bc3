"""What people are told of a journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rain.base.errors import StartError
from rain.cli import cli
from rain.server.journal.compacting import compact
from rain.server.journal.folder import JournalFolder
from rain.server.journal.listing import look_into
from rain.server.lease.folder import FolderStore
from rain.server.lease.holder import this_server
from rain.server.lease.rules import NOBODY
from tests.server.journal.test_compaction import folder, write
from tests.server.journal.test_recovery import world
from tests.support.whole_state import whole
from tests.support.world import World

__all__ = ["folder", "world"]  # fixtures


def contents_of(folder: JournalFolder) -> dict[str, bytes]:
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files}


def said(folder: JournalFolder) -> tuple[int, list[str]]:
    result = CliRunner().invoke(cli, ["journal", str(folder.path)], standalone_mode=False)
    assert result.exception is None
    return result.return_value, result.output.splitlines()


def test_each_file_is_told_with_its_turns_and_then_what_a_server_would_know(
    world: World, folder: JournalFolder
) -> None:
    # given
    records = write(folder, world, 10, 20)
    compact(folder, 1)
    store = FolderStore(folder.leases())
    store.put(NOBODY, NOBODY.taken_by(this_server("one:7210"), 5.0))
    before = contents_of(folder)
    # when
    status, (snapshot, first, second, third, turns, known) = said(folder)
    # then
    assert status == 0
    assert snapshot.startswith("snapshot-00000001 ")
    assert "turns 1" not in first  # they are in the snapshot
    assert "turns 11 to 20" in second
    assert f"turns 21 to {len(records)}" in third
    assert turns.startswith(f"{len(records)} turns, the last one of 1970-01-01")
    assert "; a server (one:7210 on " in turns
    assert known == "1 session with 50 tasks, 50 of them done, and 51 objects; 1 governor"
    # and: nothing has changed
    assert before == contents_of(folder)
    store.close()
    found = look_into(folder.path).recovered.state
    assert whole(found) == whole(world.state)
    assert found.settings.governor_silence == world.state.settings.governor_silence


def test_a_journal_is_removed_but_not_while_a_server_uses_it(
    world: World, folder: JournalFolder
) -> None:
    # given
    write(folder, world, 10, 20)
    compact(folder, 1)
    (folder.uploads() / "constant").write_bytes(b"large")
    store = FolderStore(folder.leases())
    store.put(NOBODY, NOBODY.taken_by(this_server("one:7210"), 5.0))
    command = ["journal", "--remove", str(folder.path)]
    with pytest.raises(StartError, match="is used by another server"):
        CliRunner().invoke(cli, command, standalone_mode=False, catch_exceptions=False)
    assert folder.files()
    store.close()
    # when
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    # then
    assert done.output == f"The journal {folder.path} is removed.\n"
    assert not folder.path.exists()


def test_what_else_is_in_the_folder_stays(folder: JournalFolder) -> None:
    (folder.path / "mine").write_text("not Rain's")
    folder.remove()
    assert [path.name for path in folder.path.iterdir()] == ["mine"]


def test_a_torn_end_is_told_and_left_as_it_is(world: World, folder: JournalFolder) -> None:
    write(folder, world)
    torn = folder.file(1).read_bytes()[:-3]
    folder.file(1).write_bytes(torn)
    status, lines = said(folder)
    assert status == 0
    assert "bytes at its end are torn" in lines[0]
    assert folder.file(1).read_bytes() == torn


def test_the_file_that_is_damaged_is_named(world: World, folder: JournalFolder) -> None:
    write(folder, world, 10, 20)
    damaged = bytearray(folder.file(2).read_bytes())
    damaged[-200] ^= 1
    folder.file(2).write_bytes(damaged)
    status, lines = said(folder)
    assert status == 1
    assert lines[-1].startswith("damaged: turns-00000002: ")


def test_a_damaged_snapshot_is_told_though_a_server_has_another_way(
    world: World, folder: JournalFolder
) -> None:
    records = write(folder, world, 10)
    compact(folder, 1)
    folder.snapshot(1).write_bytes(b"")
    status, lines = said(folder)
    assert status == 1
    assert f"turns 11 to {len(records)}" in lines[2]
    assert "damaged: snapshot-00000001: " in lines[-1]


def test_a_journal_that_no_server_uses_is_told_so(tmp_path: Path) -> None:
    folder = JournalFolder.open(tmp_path / "journal")
    status, (turns, _) = said(folder)
    assert (status, turns) == (0, "0 turns; no server uses the journal now")


def test_another_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="is no journal of a server"):
        look_into(tmp_path)
