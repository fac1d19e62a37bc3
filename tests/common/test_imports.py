"""What is told of a function behind its pickle."""

from __future__ import annotations

import struct

import msgpack
import pytest

from rain.common.imports import Imports, code_of, imports_of, with_imports
from rain.common.number_settings import NumberSettings

PICKLED = b"a pickle"


CODE = Imports("one-files", ("/executors/1", "/project"), (), None, 17.5, "files")
ROUNDED = CODE._replace(numbers=NumberSettings(numpy_errors=(("over", "raise"),)))


def told(key: str, *folders: str, uploads: tuple[bytes, ...] = (), changed: str = "files") -> bytes:
    return with_imports(PICKLED, Imports(key, folders, uploads, None, 17.5, changed))


def test_what_a_program_imports_from_is_read_again() -> None:
    imports = Imports("program-files", ("/here", "/there"), (b"zip",), None, 17.5, "files")
    assert imports_of(with_imports(PICKLED, imports)) == imports
    assert imports_of(PICKLED) is None


def test_the_settings_of_numbers_are_read_again() -> None:
    assert imports_of(with_imports(PICKLED, ROUNDED)) == ROUNDED


def test_what_an_earlier_release_has_told_is_read() -> None:
    told = msgpack.packb(["key", ["/here"], [], None, 17.5, "files"])
    data = PICKLED + told + struct.pack("<I8s", len(told), b"rainpath")
    assert imports_of(data) == Imports("key", ("/here",), (), None, 17.5, "files", "")


def test_fields_of_a_later_release_are_passed_over() -> None:
    told = msgpack.packb([*CODE, "a setting that is not known here"])
    data = PICKLED + told + struct.pack("<I8s", len(told), b"rainpath")
    assert imports_of(data) == CODE


def test_the_same_code_is_told_alike_by_every_process() -> None:
    code = code_of(told("one-loaded", "/executors/1", "/project"))
    assert code == code_of(told("other-and more", "/executors/2", "/project"))
    assert code is not None
    assert code.startswith(PICKLED)


@pytest.mark.parametrize(
    "other",
    [
        told("one-files", "/executors/1", "/project", changed="other files"),
        told("one-files", "/executors/1", "/project", uploads=(b"zip",)),
        with_imports(
            b"another one", Imports("one-files", ("/executors/1",), (), None, 17.5, "files")
        ),
        with_imports(PICKLED, ROUNDED),
        PICKLED,
    ],
)
def test_other_code_is_told_otherwise(other: bytes) -> None:
    assert code_of(other) != code_of(told("one-files", "/executors/1", "/project"))


def test_bytes_of_another_format_are_not_recognised_as_code() -> None:
    assert code_of(b"\xc1\xc1\x02\x00\x00\x00rainpath") is None
    assert code_of(b"\x93\x01\x02\x03\x04\x00\x00\x00rainpath") is None
