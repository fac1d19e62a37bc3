"""A lease in a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from rain.server.lease.folder import KEPT, FolderStore
from rain.server.lease.holder import this_server
from rain.server.lease.rules import NOBODY, Record
from rain.server.lease.store import LeaseStoreError

ONE, TWO = this_server("one:7210"), this_server("two:7210")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def test_only_one_can_take_a_generation(store: FolderStore, tmp_path: Path) -> None:
    other = FolderStore(tmp_path)
    assert store.read() == NOBODY
    first = NOBODY.taken_by(ONE, 5.0)
    assert store.put(NOBODY, first)
    assert not other.put(NOBODY, NOBODY.taken_by(TWO, 5.0))
    assert other.read() == first


def test_a_holder_that_was_replaced_cannot_renew(store: FolderStore, tmp_path: Path) -> None:
    other = FolderStore(tmp_path)
    first = NOBODY.taken_by(ONE, 5.0)
    store.put(NOBODY, first)
    assert store.put(first, first.renewed())
    second = first.taken_by(TWO, 5.0)
    assert other.put(first.renewed(), second)
    # when / then
    assert not store.put(first.renewed(), first.renewed().renewed())
    assert store.read() == second


def test_a_holder_whose_process_has_ended_is_known_to_have(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rain.server.lease.folder import FolderStore\n"
        "from rain.server.lease.holder import this_server\n"
        "from rain.server.lease.rules import NOBODY\n"
        f"store = FolderStore(Path({str(tmp_path)!r}))\n"
        "store.put(NOBODY, NOBODY.taken_by(this_server('there:1'), 5.0))\n"
        "print('taken', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        store = FolderStore(tmp_path)
        found = store.read()
        assert not store.has_ended(found)
        # when
        process.kill()
        process.wait()
        # then
        assert store.has_ended(found)
        # but: of another machine nobody knows that
        elsewhere = evolve(found, holder=evolve(found.holder, machine="elsewhere"))
        assert not store.has_ended(elsewhere)
        assert not store.has_ended(evolve(found, holder=evolve(found.holder, machine="")))


def test_a_file_that_is_not_written_yet_is_a_holder_whom_nobody_knows(store: FolderStore) -> None:
    store.path(4).touch()
    found = store.read()
    assert found == Record(4)
    assert not store.has_ended(found)


def test_files_of_long_ago_go(store: FolderStore) -> None:
    record = NOBODY
    for _ in range(KEPT + 5):
        after = record.taken_by(ONE, 5.0)
        assert store.put(record, after)
        record = after
    assert len(list(store.folder.iterdir())) == KEPT


def test_a_folder_that_has_gone_is_told_by_name(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "gone")
    with pytest.raises(LeaseStoreError, match=r"the leases in .*gone cannot be used: No such file"):
        store.read()
