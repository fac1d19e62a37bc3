"""Large data of a client is a file without a name, which one program gives to another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.stream import staged
from rain.stream.protocol import NOBODY
from rain.stream.staged import Staged, UploadFolder, stage
from rain.stream.writing import PIECE

HERE = bytes(range(16))


def staged_in(folder: Path, *parts: bytes | memoryview) -> Staged:
    made = stage(str(folder), parts)
    assert made is not None
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=50), min_size=1).filter(any))
def test_the_file_has_all_parts_behind_each_other(tmp_path: Path, parts: list[bytes]) -> None:
    made = staged_in(tmp_path, *parts)
    assert bytes(made.view()) == b"".join(parts)
    assert len(made) == len(b"".join(parts))


def test_parts_longer_than_one_write_are_whole(tmp_path: Path) -> None:
    first, second = os.urandom(2 * PIECE + 1), os.urandom(PIECE)
    assert bytes(staged_in(tmp_path, first, memoryview(second)).view()) == first + second


def test_nobody_can_write_into_it_and_it_has_no_name(tmp_path: Path) -> None:
    made = staged_in(tmp_path, b"data")
    assert list(tmp_path.iterdir()) == []
    assert os.fstat(made.descriptor).st_mode & 0o777 == 0o444
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(made.descriptor, b"x")


def test_it_gets_a_name_without_a_copy(tmp_path: Path) -> None:
    made = staged_in(tmp_path, b"data")
    made.link(str(tmp_path / "named"))
    assert os.fstat(made.descriptor).st_ino == (tmp_path / "named").stat().st_ino
    assert (tmp_path / "named").read_bytes() == b"data"


def test_without_the_folder_of_a_server_it_lies_in_the_temporary_one() -> None:
    made = stage("", [b"data"])
    assert made is not None
    assert not made.is_linkable
    assert bytes(made.view()) == b"data"


def test_where_there_can_be_no_file_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stage(str(tmp_path / "missing"), [b"data"]) is None
    kept = [staged_in(tmp_path, b"data") for _ in range(2)]
    monkeypatch.setattr(staged, "MOST_OPEN", 2)
    assert stage(str(tmp_path), [b"data"]) is None
    del kept[0]
    assert stage(str(tmp_path), [b"data"]) is not None


def test_a_folder_is_told_to_programs_of_the_same_machine(tmp_path: Path) -> None:
    folder = UploadFolder.of(tmp_path, HERE)
    assert folder is not None
    told = UploadFolder.read(folder.spell())
    assert told is not None
    assert told == folder
    assert told.for_us(HERE) == str(tmp_path)
    assert told.for_us(bytes(16)) == ""


def test_a_path_that_leads_to_another_folder_is_nobodys(tmp_path: Path) -> None:
    folder = UploadFolder.of(tmp_path, HERE)
    assert folder is not None
    elsewhere = UploadFolder.read(folder.spell().replace(f" {folder.place.inode} ", " 1 "))
    assert elsewhere is not None
    assert elsewhere.for_us(HERE) == ""
    gone = UploadFolder.read(folder.spell() + "/missing")
    assert gone is not None
    assert gone.for_us(HERE) == ""


def test_a_machine_without_a_name_shares_nothing(tmp_path: Path) -> None:
    assert UploadFolder.of(tmp_path, NOBODY) is None
    assert UploadFolder.read("") is None


@pytest.mark.parametrize("told", ["xyz 1 2 /path", "00", "00 1 /path"])
def test_what_is_no_folder_is_refused(told: str) -> None:
    with pytest.raises(ProtocolError):
        UploadFolder.read(told)
