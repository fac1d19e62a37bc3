"""How a server gets to lead: it takes the lease, says who has it, or waits."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
import trio
from attrs import evolve

from rain.base.errors import StartError
from rain.server import leading
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header
from rain.server.journal.writer import Writer
from rain.server.leading import Candidate
from rain.server.lease.rules import NOBODY, Record
from tests.server.lease.test_lease import LENGTH, ONE, TWO, Place

ELSEWHERE = evolve(ONE, machine="elsewhere")
SETTINGS = ReactorSettings()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    """A look takes a second of its clock, and there is no pause between two of them."""
    monkeypatch.setattr(leading, "PAUSE", 0.0)
    return Place(takes=1.0)


@pytest.fixture
def candidate(place: Place, tmp_path: Path) -> Candidate:
    folder = JournalFolder.open(tmp_path / "journal")
    return Candidate(folder, place, TWO, LENGTH, structlog.get_logger(), place.clock)


def test_a_server_takes_a_lease_that_nobody_has(place: Place, candidate: Candidate) -> None:
    place.takes = 0.0
    assert trio.run(candidate.take_now).generation == 1
    assert place.record.holder == TWO


def test_a_server_names_the_file_that_is_no_journal(place: Place, candidate: Candidate) -> None:
    file = candidate.folder.file(1)
    file.write_bytes(b"#!/bin/sh\necho no journal\n" * 9)
    with pytest.raises(StartError) as caught:
        trio.run(candidate.take_now)
    assert str(caught.value) == (
        f"the journal {file} cannot be used: it is not a journal of Rain. Move the folder away to"
        " begin anew"
    )
    assert place.record == NOBODY


def test_a_server_says_which_one_of_this_machine_uses_the_journal(
    place: Place, candidate: Candidate
) -> None:
    place.record = NOBODY.taken_by(ONE, LENGTH)
    with pytest.raises(StartError, match=r"is used by another server \(one:7210 on .*--standby"):
        trio.run(candidate.take_now)
    assert place.record.holder == ONE


def test_a_server_waits_whether_one_of_another_machine_lives(
    place: Place, candidate: Candidate
) -> None:
    place.record = NOBODY.taken_by(ELSEWHERE, LENGTH)
    lease = trio.run(candidate.take_now)
    assert lease.generation == 2
    assert place.now >= LENGTH


def test_a_server_of_another_machine_that_lives_is_named(candidate: Candidate) -> None:
    class Beating(Place):
        def read(self) -> Record:
            self.record = self.record.renewed()
            return super().read()

    place = Beating(NOBODY.taken_by(ELSEWHERE, LENGTH), takes=1.0)
    candidate.store, candidate.clock = place, place.clock
    with pytest.raises(StartError, match=r"is used by another server \(one:7210 on "):
        trio.run(candidate.take_now)


def test_a_place_that_does_not_answer_stops_the_start_by_name(
    place: Place, candidate: Candidate
) -> None:
    place.trouble = "no route"
    with pytest.raises(StartError, match="cannot find out which server has the journal: no route"):
        trio.run(candidate.take_now)


def test_a_standby_takes_a_lease_that_lapses_and_has_read_the_journal(
    place: Place, candidate: Candidate
) -> None:
    writer = Writer.create(candidate.folder, 1, Header(1, SETTINGS, generation=1))
    place.record = NOBODY.taken_by(ELSEWHERE, LENGTH)
    found = trio.run(candidate.stand_by, SETTINGS)
    assert found is not None
    lease, recovery = found
    assert (lease.generation, place.record.holder) == (2, TWO)
    assert recovery is not None
    assert recovery.finish().file == 1
    writer.close()


def test_a_standby_ends_with_its_cluster(place: Place, candidate: Candidate) -> None:
    place.record = NOBODY.taken_by(ELSEWHERE, LENGTH)

    class Ending(Place):
        def read(self) -> Record:
            found = super().read()
            self.record = self.record.let_go(over=True)
            return found

    ending = Ending(place.record)
    candidate.store, candidate.clock = ending, ending.clock
    assert trio.run(candidate.stand_by, SETTINGS) is None


def test_a_standby_that_is_started_after_the_end_of_a_cluster_leads(
    place: Place, candidate: Candidate
) -> None:
    place.takes = 0.0
    place.record = NOBODY.taken_by(ELSEWHERE, LENGTH).let_go(over=True)
    found = trio.run(candidate.stand_by, SETTINGS)
    assert found is not None
    assert found[0].generation == 2
