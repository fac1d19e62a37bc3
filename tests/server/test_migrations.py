"""What has changed by more than new fields is read by what a migration says."""

from __future__ import annotations

import msgpack
import pytest
from attrs import define

from rain.base.ids import TaskId
from rain.graph import Task
from rain.server import migrations
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.journal.records import Decoder, Header, JournalError, encode_header
from rain.server.migrations import Fields, LaterFormatError, Migration, Table, missing, version
from rain.server.plain import Forms
from rain.server.snapshot.reading import SnapshotError
from rain.server.snapshot.saving import load, save
from tests.support.scenes import scene


@define
class Clip:
    """Once its field was called `length`, and was in minutes; now it is in seconds."""

    seconds: float
    tags: tuple[str, ...] = ()


@define
class Reel:
    """Holds some."""

    clips: list[Clip]


def renamed(fields: Fields) -> Fields:
    return {
        **{name: value for name, value in fields.items() if name != "length"},
        "minutes": fields["length"],
    }


def in_seconds(fields: Fields) -> Fields:
    minutes = fields.pop("minutes")
    return {**fields, "seconds": 60.0 * minutes}


SINCE = (Migration(2, {"Clip": renamed}), Migration(3, {"Clip": in_seconds}))


def test_a_file_needs_what_is_newer_than_it() -> None:
    assert version(()) == 1
    assert version(SINCE) == 3
    assert missing(1, "0.1", SINCE) == SINCE
    assert missing(2, "0.2", SINCE) == SINCE[1:]
    assert missing(3, "0.3", SINCE) == ()
    with pytest.raises(LaterFormatError, match=r"Rain 9.9 in version 4 .* reads versions up to 3"):
        missing(4, "9.9", SINCE)


def test_changes_are_made_one_after_the_other_and_inside_of_others() -> None:
    first = Forms({"Clip": ["tags", "length"], "Reel": ["clips"]}, missing(1, "0.1", SINCE))
    assert first.back(Reel, [[[["a"], 2.0]]]) == Reel([Clip(120.0, ("a",))])
    second = Forms({"Clip": ["minutes"], "Reel": ["clips"]}, missing(2, "0.2", SINCE))
    assert second.back(Reel, [[[2.0]]]) == Reel([Clip(120.0)])


def test_a_field_of_which_no_migration_knows_is_refused_by_name() -> None:
    forms = Forms({"Clip": ["minutes", "colour"]}, missing(2, "0.2", SINCE))
    with pytest.raises(ValueError, match="Clip has a field 'colour', which is not known"):
        forms.back(Clip, [2.0, "red"])


def test_a_journal_of_an_earlier_version_is_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: once there was a setting of another name and another unit
    header = Header(5, ReactorSettings(governor_silence=90.0))
    said = msgpack.unpackb(encode_header(header))
    place = said["layout"]["ReactorSettings"].index("governor_silence")
    said["layout"]["ReactorSettings"][place] = "patience"
    said["header"][1][place] = 1.5
    old = msgpack.packb(said)
    with pytest.raises(JournalError, match="ReactorSettings has a field 'patience'"):
        Decoder.of(old)

    # when
    def change(fields: Fields) -> Fields:
        minutes = fields.pop("patience")
        return {**fields, "governor_silence": 60.0 * minutes}

    use(monkeypatch, Migration(2, {"ReactorSettings": change}))
    # then
    assert Decoder.of(old).header == header
    assert Decoder.of(encode_header(header)).header == header


def test_a_snapshot_of_an_earlier_version_is_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    s = scene(1)
    task, made = s.draft.task(keep=True)
    other, _ = s.draft.task(*made, keep=True)
    s.submit()
    s.world.task(task).user = "old"
    old = b"".join(save(s.world.state))

    # when: inputs are counted in the other order, and what users say has another sense
    def change(table: Table) -> Table:
        return {**table, "user": [said.upper() for said in table["user"]]}

    use(monkeypatch, Migration(2, tables={"Task": change}))
    # then
    tasks = load(old).state.graph.tasks
    assert said(tasks[task], tasks[other]) == ["OLD", ""]
    assert tasks[other].inputs[0].id == made[0]
    # and: what is written now is as it is
    now = b"".join(save(s.world.state))
    assert said(load(now).state.graph.tasks[TaskId(task)]) == ["old"]


def test_a_column_that_has_another_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: a release in which a field of several columns had another name
    s = scene(1)
    task, made = s.draft.task(keep=True)
    other, _ = s.draft.task(*made, keep=True)
    s.submit()
    use(monkeypatch, Migration(2, tables={"Task": from_inputs}))
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", ())
        data = b"".join(save(s.world.state))
    with pytest.raises(SnapshotError, match=r"this version of Rain knows no Task\.reads"):
        load(data)
    # when
    use(
        monkeypatch,
        Migration(2, tables={"Task": from_inputs}),
        Migration(3, tables={"Task": to_inputs}),
    )
    # then
    tasks = load(data).state.graph.tasks
    assert [one.id for one in tasks[other].inputs] == list(made)
    assert not tasks[task].inputs


def from_inputs(table: Table) -> Table:
    return {name.replace("inputs", "reads"): values for name, values in table.items()}


def to_inputs(table: Table) -> Table:
    return {name.replace("reads", "inputs"): values for name, values in table.items()}


def said(*tasks: Task) -> list[str]:
    return [task.user for task in tasks]


def use(monkeypatch: pytest.MonkeyPatch, *since: Migration) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", since)
