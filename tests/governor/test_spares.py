"""How many bytes of deleted files a governor keeps to be written over."""

from __future__ import annotations

from math import inf

import pytest

from rain.base.ids import SessionId
from rain.base.kinds import ObjectKind
from rain.governor.core.disk import Disk
from rain.governor.core.nodes import DataObject, Session
from rain.governor.core.spares import SECONDS, Spares
from rain.governor.core.tables import ObjectRow
from rain.governor.core.tiers import Tiers
from tests.governor.words import PLAIN, kind_id, object_id


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def tiers() -> Tiers:
    return Tiers(1000, memory=50_000)


@pytest.fixture
def spares(tiers: Tiers, disk: Disk) -> Spares:
    return Spares(tiers, disk)


def test_nothing_is_kept_before_a_file_was_deleted(spares: Spares) -> None:
    assert not spares.is_awake
    assert spares.look(7.0) == (0, 0)


def test_files_are_kept_until_none_was_deleted_for_some_seconds(spares: Spares) -> None:
    spares.deleted()
    assert spares.look(7.0) == (5000, 800)
    assert spares.look(7.0 + SECONDS - 0.1) == (5000, 800)
    spares.deleted()
    assert spares.look(7.0 + SECONDS - 0.1) == (5000, 800)
    assert spares.look(7.0 + SECONDS) == (5000, 800)
    assert spares.is_awake
    assert spares.look(7.0 + 2 * SECONDS) == (0, 0)
    assert not spares.is_awake


def test_files_in_shared_memory_end_where_others_would_have_to_leave(
    spares: Spares, tiers: Tiers
) -> None:
    spares.deleted()
    kind = ObjectKind(kind_id(PLAIN))
    tiers.hold(1, 500, DataObject(object_id(10), kind, Session(SessionId(1)), ObjectRow.HELD))
    assert spares.look(7.0) == (5000, 300)
    tiers.set_available(5000 - 200)  # the machine has less than it should keep free
    assert tiers.limit == 300
    assert spares.look(7.0) == (5000, 0)


def test_files_on_the_disk_end_where_tasks_would_have_to_wait(spares: Spares, disk: Disk) -> None:
    spares.deleted()
    disk.budget = disk.limit = 5000
    disk.hold(1, 3000)
    assert spares.look(7.0)[0] == 1000
    disk.hold(2, 1500)
    assert spares.look(7.0)[0] == 0


def test_without_shared_memory_nothing_is_kept(disk: Disk) -> None:
    spares = Spares(Tiers(), disk)
    spares.deleted()
    assert spares.look(7.0) == (0, 0)
    disk.set_free(inf, 0)
    assert spares.look(7.0) == (0, 0)
