"""Each field of each class of the state is saved, or left out for a reason."""

from __future__ import annotations

from typing import get_type_hints

import attrs
import pytest
from attrs import Factory, define, frozen

from rain.graph import Task
from rain.server.snapshot import layouts, leaving_out
from rain.server.snapshot.layouts import layout_of, layouts_from
from rain.server.snapshot.leaving_out import LEFT_OUT, PARTS
from rain.server.snapshot.saving import Saved


def test_each_field_is_saved_or_left_out_with_a_reason() -> None:
    """A new field whose type is known is saved by itself. For another one this fails by name."""
    found = layouts_from(Saved)  # raises for a type without a shape
    for name, layout in found.items():
        saved = {field.name for field in layout.fields}
        left_out = LEFT_OUT.get(layout.kind, {})
        assert saved.isdisjoint(left_out), name
        parts = PARTS.get(layout.kind, {})
        in_parts = set[str]()
        for part, names in parts.items():
            kind = get_type_hints(layout.kind)[part]
            of_part = {names.get(field.name, field.name) for field in attrs.fields(kind)}
            assert of_part.isdisjoint(in_parts), part
            in_parts |= of_part
        own = {field.name for field in attrs.fields(layout.kind)} - parts.keys()
        assert saved == (own - left_out.keys()) | in_parts, name
        assert all(left_out.values()), name
    assert {kind.__name__ for kind in LEFT_OUT} <= found.keys()
    assert {"Task", "DataObject", "Governor", "Session", "Run", "Copy", "Wait"} <= found.keys()


def test_a_field_of_an_unknown_type_is_an_error_by_name() -> None:
    @define
    class Node:
        id: int
        hook: object = None

    with pytest.raises(TypeError, match="the field 'hook' of Node is neither saved nor left out"):
        layout_of(Node)


def test_a_set_of_objects_is_refused_since_it_has_no_order() -> None:
    @frozen(eq=False)
    class Node:
        others: set[Task] = Factory(set)

    with pytest.raises(TypeError, match=r"'others' of Node .* no order for a set"):
        layout_of(Node)


def test_what_is_left_out_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    @define
    class Node:
        id: int

    left_out: dict[type, dict[str, str]] = {Node: {"gone": "it has never been there"}}
    monkeypatch.setattr(layouts, "LEFT_OUT", left_out)
    with pytest.raises(TypeError, match="Node has no field 'gone' to be left out"):
        layout_of(Node)


def test_what_is_always_there_cannot_be_changed() -> None:
    for kind, objects in leaving_out.ALWAYS_THERE.items():
        for one in objects:
            assert type(one) is kind
            name = layout_of(kind).fields[0].name
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(one, name, None)
