"""A later release reads what this one writes: new fields of what is in a journal have defaults."""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from rain.server.journal.records import Header, TurnRecord
from rain.server.migrations import FIRST as VERSION
from rain.server.migrations import MIGRATIONS
from rain.server.plain import classes_of, layout_of

BEFORE: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / f"layout-{VERSION}.json").read_text(encoding="utf-8")
)
"""The fields of all classes in a journal, in the first version of the format."""


def test_what_has_come_since_has_a_default() -> None:
    without = [
        f"{name}.{field.name}"
        for name, kind in classes_of(Header, TurnRecord).items()
        for field in attrs.fields(kind)
        if name in BEFORE and field.name not in BEFORE[name]
        if field.init and field.default is attrs.NOTHING
    ]
    assert not without


def test_nothing_has_gone_since_but_by_a_migration() -> None:
    today = layout_of(Header, TurnRecord)
    gone = {name: {*fields} - {*today.get(name, ())} for name, fields in BEFORE.items()}
    changed = {name for migration in MIGRATIONS for name in migration.records}
    assert not {name: fields for name, fields in gone.items() if fields and name not in changed}
