"""Which folders are trusted."""

from pathlib import Path

import pytest

from rain.base.caching import OWN_FOLDER
from rain.cache.errors import CacheError
from rain.cache.places import TAG, open_place, own_folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_the_folder_of_a_user_is_made_for_nobody_else(home: Path) -> None:
    place = open_place(OWN_FOLDER)
    assert place.path == home / "rain" / "results"
    assert place.path.stat().st_mode & 0o777 == 0o700
    assert not place.is_shared
    assert (place.path / TAG).read_text().startswith("Signature: ")


def test_without_the_variable_it_is_below_the_home_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(home))
    assert own_folder() == home / ".cache" / "rain" / "results"


def test_the_own_folder_is_not_used_when_others_can_write_there() -> None:
    own = own_folder()
    own.mkdir(parents=True)
    own.chmod(0o770)
    with pytest.raises(CacheError, match="can be written by others"):
        open_place(OWN_FOLDER)


def test_a_folder_that_the_user_has_named_is_used_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    place = open_place(str(shared))
    assert place.is_shared
    assert (shared / "entries").stat().st_mode & 0o7777 == 0o2775


def test_a_named_folder_is_made(tmp_path: Path) -> None:
    assert open_place(str(tmp_path / "a" / "b")).path.is_dir()


def test_a_file_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CacheError, match="cannot be used"):
        open_place(str(tmp_path / "file"))
