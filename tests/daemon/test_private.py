"""Folders of one user, and what other users may have left in their places."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from attrs import frozen

from rain.base.errors import StartError
from rain.daemon.folders import make_folder
from rain.daemon.private import objection, objection_above, private_folder, temporary_folder
from rain.daemon.work_folder import WorkFolder

ME, ROOT, OTHER = 1000, 0, 65534


@frozen
class Found:
    """A faked result of stat."""

    st_uid: int
    st_mode: int


def test_a_folder_of_mine_is_believed() -> None:
    assert objection(Found(ME, stat.S_IFDIR | 0o700), ME) == ""


def test_a_folder_of_another_user_is_not_even_if_the_user_is_root() -> None:
    assert "another user" in objection(Found(OTHER, stat.S_IFDIR | 0o777), ME)
    assert "another user" in objection(Found(ROOT, stat.S_IFDIR | 0o777), ME)


def test_a_link_is_not_believed_wherever_it_leads() -> None:
    assert "link" in objection(Found(ME, stat.S_IFLNK | 0o777), ME)


def test_a_file_is_no_folder() -> None:
    assert "not a folder" in objection(Found(ME, stat.S_IFREG | 0o600), ME)


def test_above_it_only_root_and_i_may_rename_what_is_there() -> None:
    trusted = frozenset({ROOT, ME})
    assert objection_above(Found(ROOT, stat.S_IFDIR | 0o755), trusted) == ""
    assert objection_above(Found(ROOT, stat.S_IFDIR | 0o1777), trusted) == ""
    assert "sticky" in objection_above(Found(ROOT, stat.S_IFDIR | 0o777), trusted)
    assert "sticky" in objection_above(Found(ME, stat.S_IFDIR | 0o775), trusted)
    assert "another user" in objection_above(Found(OTHER, stat.S_IFDIR | 0o755), trusted)


def test_a_private_folder_is_closed_to_others_whatever_it_was_before(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    for name in ("open", "new"):
        assert stat.S_IMODE(private_folder(tmp_path / name).stat().st_mode) == 0o700


def test_a_private_folder_that_is_a_link_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(StartError, match=r"link must be a private folder of yours.*symbolic link"):
        private_folder(tmp_path / "link")


def test_log_and_work_folders_that_are_made_are_closed_to_others(tmp_path: Path) -> None:
    for made in (
        make_folder(tmp_path / "logs", "log folder"),
        WorkFolder.make(tmp_path / "work", "governor").path,
    ):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_temporary_folder_that_anybody_may_rename_in_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(StartError, match="sticky bit; set TMPDIR to a folder of yours"):
        temporary_folder()


_DEFAULTS = """
import os, sys
from rain.daemon.folders import default_log_folder, make_folder
if sys.argv[1]:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(make_folder(default_log_folder("rain"), "log folder"))
"""


def _as_user(base: Path, user: str) -> subprocess.CompletedProcess[str]:
    """Makes the default log folder as another user if we may become one, or else as ourselves."""
    environment = {**os.environ, "TMPDIR": str(base), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", _DEFAULTS, user if os.geteuid() == 0 else ""],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_second_user_of_the_machine_gets_folders_of_its_own() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        base = Path(name)
        base.chmod(0o1777)
        first, second = _as_user(base, ""), _as_user(base, "other")
        assert (first.returncode, second.returncode) == (0, 0), second.stderr
        users = {path.stat().st_uid: path for path in base.iterdir()}
        assert set(users) == ({0, 65534} if os.geteuid() == 0 else {os.geteuid()})
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in users.values())


def test_what_others_put_in_the_place_of_my_folder_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / f"rain-{os.geteuid()}"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if os.geteuid() == 0:
        mine.mkdir(mode=0o777)
        os.chown(mine, OTHER, OTHER)
        reason = "another user"
    else:
        mine.symlink_to(tmp_path)
        reason = "symbolic link"
    with pytest.raises(StartError, match=rf"{reason}.*remove it, or set TMPDIR"):
        WorkFolder.make(None, "server")
