"""Structs of an older and of a newer release are read by Cap'n Proto's own rules."""

from __future__ import annotations

import pytest

from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.messages import UnreadableError
from tests.rpc.capnproto.every import every

OLD, NEW = Layout.of(every.Old), Layout.of(every.New)
OLD_ROWS, NEW_ROWS = Layout.of(every.OldRows), Layout.of(every.NewRows)

OF_NEW = {"number": 3, "colour": "green", "more": 9, "text": "more", "choice": {"two": "x"}}


def test_what_an_older_release_did_not_know_has_its_default() -> None:
    read = NEW.read(OLD.write({"number": 3, "colour": "green"}))
    expected = {"number": 3, "colour": "green", "more": 7, "text": "", "choice": {"one": 0}}
    assert {name: value for name, value in read.items() if name != "inner"} == expected


def test_what_a_newer_release_says_more_is_not_seen() -> None:
    read = OLD.read(NEW.write(OF_NEW))
    assert (read["number"], read["colour"]) == (3, "green")


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_same_holds_for_the_rows_of_a_list(rows: int) -> None:
    newer = NEW_ROWS.read(OLD_ROWS.write({"rows": [{"number": row} for row in range(rows)]}))
    older = OLD_ROWS.read(NEW_ROWS.write({"rows": [OF_NEW] * rows}))
    assert [row["number"] for row in newer["rows"]] == [*range(rows)]
    assert [row["more"] for row in newer["rows"]] == [7] * rows
    assert [row["number"] for row in older["rows"]] == [3] * rows


def test_a_value_that_only_a_newer_release_knows_is_unreadable() -> None:
    with pytest.raises(UnreadableError, match=r"Old.colour is 2, which is not known here"):
        OLD.read(NEW.write({"colour": "blue"}))


def test_a_table_that_is_not_there_is_none_and_one_without_rows_is_there() -> None:
    orders = Layout.of(schema.governor.Orders)
    read = orders.read(orders.write({"lent": {}, "drops": []}))
    assert read["lent"] == {"ids": [], "kinds": [], "contentTypes": [], "data": []}
    assert read["placed"] is None
    assert read["drops"] == []
