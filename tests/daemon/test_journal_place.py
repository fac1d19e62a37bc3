"""Who gets a journal without asking, and where."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest

from rain.daemon.journal_place import chosen, usual_place


def test_a_server_with_a_port_of_its_users_choice_has_one() -> None:
    place = usual_place(7210)
    assert chosen(None, 7210, records=False) == place
    assert place.name == f"{socket.gethostname()}-7210"
    assert place != usual_place(7211)


def test_a_server_that_nobody_finds_again_has_none() -> None:
    assert chosen(None, 0, records=False) is None


def test_a_recording_takes_its_place() -> None:
    assert chosen(None, 7210, records=True) is None


def test_who_names_a_folder_has_it_and_who_says_none_has_none() -> None:
    assert chosen(Path("mine"), 0, records=True) == Path("mine")
    assert chosen(Path("none"), 7210, records=False) is None


def test_it_is_in_the_state_folder_of_the_user_alone(tmp_path: Path) -> None:
    place = usual_place(7210, {"XDG_STATE_HOME": str(tmp_path)})
    assert place.parent == tmp_path / "rain" / "journals"
    assert place.parent.stat().st_mode & 0o777 == 0o700


def test_without_a_state_folder_it_is_in_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").write_text("in the way")
    place = usual_place(7210, {"XDG_STATE_HOME": str(tmp_path / "file")})
    assert tmp_path in place.parents
    assert place.parent.is_dir()
