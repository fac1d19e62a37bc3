"""Files and folders that nobody needs are removed, even while others remove them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rain.stream.removing import remove


def a_folder(path: Path) -> Path:
    """A folder with a file in a folder that nobody may change."""
    (path / "inner").mkdir(parents=True)
    (path / "inner" / "file").touch()
    (path / "inner" / "link").symlink_to("..")
    (path / "inner").chmod(0o500)
    path.chmod(0o500)
    return path


def test_what_is_gone_is_ignored(tmp_path: Path) -> None:
    remove(tmp_path / "gone")


def test_files_links_and_read_only_folders_go(tmp_path: Path) -> None:
    kept = a_folder(tmp_path / "kept")
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "file").touch(mode=0o400)
    for name in ("link", "file"):
        remove(tmp_path / name)
    remove(a_folder(tmp_path / "folder"))
    assert list(tmp_path.iterdir()) == [kept]
    assert (kept / "inner" / "file").exists()


def test_what_vanishes_meanwhile_is_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_folder(tmp_path / "folder")
    really = shutil.rmtree
    rounds: list[Path] = []

    def overtaken(path: Path) -> None:
        rounds.append(path)
        if len(rounds) == 1:
            (folder / "inner" / "file").unlink()
            raise FileNotFoundError
        really(path)

    monkeypatch.setattr(shutil, "rmtree", overtaken)
    remove(folder)
    assert not folder.exists()


def test_a_folder_that_may_not_be_removed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(shutil, "rmtree", refused)
    with pytest.raises(PermissionError):
        remove(a_folder(tmp_path / "folder"))
