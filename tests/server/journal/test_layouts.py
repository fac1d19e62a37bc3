"""A later version reads what an earlier one has written, or says why not."""

from __future__ import annotations

import msgpack
import pytest
from attrs import Factory, define

from rain.server.core.reactor_settings import ReactorSettings
from rain.server.journal.records import Decoder, Header, JournalError, encode_header
from rain.server.plain import Forms, layout_of, to_plain


@define
class Inner:
    """Has got a field, and its fields have changed places."""

    new: list[int] = Factory(lambda: [7])
    size: int = 0
    name: str = ""


@define
class Outer:
    """Holds the other."""

    inners: list[Inner]
    either: Inner | Other


@define
class Other:
    """One of two."""

    said: str = ""


def test_fields_are_read_by_their_names_and_new_ones_take_their_defaults() -> None:
    layout = {"Outer": ["inners", "either"], "Inner": ["name", "size"], "Other": ["said"]}
    read = Forms(layout).back(Outer, [[["a", 1], ["b", 2]], ["Inner", ["c", 3]]])
    assert read == Outer([Inner([7], 1, "a"), Inner([7], 2, "b")], Inner([7], 3, "c"))


def test_a_field_that_is_not_known_any_more_is_refused_by_name() -> None:
    layout = {"Outer": ["inners", "either"], "Inner": ["name", "colour"], "Other": ["said"]}
    with pytest.raises(ValueError, match="Inner has a field 'colour', which is not known"):
        Forms(layout).back(Outer, [[["a", "red"]], ["Other", ["x"]]])


def test_a_class_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Gone is not known"):
        Forms().back(Outer, [[], ["Gone", []]])


def test_a_layout_names_all_classes_that_values_can_hold() -> None:
    assert layout_of(Outer) == {
        "Outer": ["inners", "either"],
        "Inner": ["new", "size", "name"],
        "Other": ["said"],
    }


def test_the_header_of_a_journal_may_lack_settings_that_are_new() -> None:
    # given: a server that knew one setting less
    header = Header(5, ReactorSettings(overbooking=9))
    said = msgpack.unpackb(encode_header(header))
    place = said["layout"]["ReactorSettings"].index("hand_backs")
    del said["layout"]["ReactorSettings"][place]
    del said["header"][1][place]
    # then
    assert Decoder.of(msgpack.packb(said)).header == header
    # and: another one knew more
    said["layout"]["ReactorSettings"].append("magic")
    said["header"][1].append(1)
    with pytest.raises(JournalError, match="ReactorSettings has a field 'magic'"):
        Decoder.of(msgpack.packb(said))


def test_a_journal_of_another_format_names_both_versions() -> None:
    said = msgpack.unpackb(encode_header(Header(1, ReactorSettings())))
    said["version"], said["rain"] = 99, "9.9"
    with pytest.raises(JournalError, match=r"written by Rain 9.9 in version 99 of the format"):
        Decoder.of(msgpack.packb(said))


def test_a_value_of_too_few_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="3 parts are expected, not 2"):
        Forms().back(Inner, [[], 1])
    assert to_plain(Inner, Inner()) == [[7], 0, ""]
